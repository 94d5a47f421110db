// SPDX-License-Identifier: MIT
// What rust_types.sh traces. Arguments come from black_box(), and results go there: the optimizer knows nothing of them.
use std::hint::black_box;

pub struct Order {
    pub id: u32,
    pub total: f64,
    pub who: String,
}

pub enum Kind {
    Small(u8),
    Big { w: u64, h: u64 },
    None,
}

pub trait Priced {
    fn price(&self, quantity: i32) -> i64;
}

impl Priced for Order {
    #[inline(never)]
    fn price(&self, quantity: i32) -> i64 {
        black_box(black_box(self).id as i64 * quantity as i64)
    }
}

#[inline(never)]
pub fn greet(name: &str, times: u8, loud: bool) -> String {
    let mut s = black_box(name).repeat(black_box(times) as usize);
    if black_box(loud) {
        s.push('!');
    }
    s
}

#[inline(never)]
pub fn slice(v: &[u32], s: &String, b: Box<Order>, n: i16) -> u32 {
    black_box(v).iter().sum::<u32>() + black_box(s).len() as u32 + black_box(b).id + black_box(n).unsigned_abs() as u32
}

#[inline(never)]
pub fn big(o: Order, x: Option<u32>, k: Kind, c: char) -> u64 {
    let o = black_box(o);
    let kind = match black_box(k) {
        Kind::Small(a) => a as u64,
        Kind::Big { w, h } => w + h,
        Kind::None => 0,
    };
    o.id as u64 + black_box(x).unwrap_or(0) as u64 + kind + black_box(c) as u64
}

fn main() {
    let o = black_box(Order { id: 42, total: 1.5, who: "ann".to_string() });
    let other = Order { id: 9, total: 2.0, who: String::new() };
    println!("out: {}", black_box(greet)(black_box("bob"), black_box(2), black_box(true)));
    println!("out: {} {}", o.price(black_box(3)), o.total);
    println!("out: {}", black_box(slice)(black_box(&[1, 2, 3]), &o.who, Box::new(other), black_box(-5)));
    let kind = black_box([Kind::Big { w: 3, h: 4 }, Kind::Small(1), Kind::None]);
    for k in kind.into_iter().take(black_box(1)) {
        println!("out: {}", black_box(big)(Order { id: 42, total: 0.0, who: String::new() }, black_box(Some(5)), k, black_box('x')));
    }
}
