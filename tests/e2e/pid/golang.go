// SPDX-License-Identifier: MIT
// What golang.sh traces: values that take one register, several, or none.
package main

import (
	"errors"
	"fmt"
)

type Item struct {
	Name  string
	Price int64
	Qty   int32
}

type Cart struct {
	Items []Item
	Owner *Customer
}

type Customer struct {
	ID   uint32
	Name string
}

type Pricer interface {
	Price(n int) (int, error)
}

//go:noinline
func add(a, b int) int { return a + b }

//go:noinline
func greet(name string, times int, loud bool) string {
	s := name
	for i := 0; i < times; i++ {
		s += "!"
	}
	if loud {
		s += "?"
	}
	return s
}

//go:noinline
func (c *Cart) Total(tax float64, extra int) (int64, error) {
	var t int64
	for _, it := range c.Items {
		t += it.Price * int64(it.Qty)
	}
	if extra < 0 {
		return 0, errors.New("negative")
	}
	return t + int64(tax) + int64(extra), nil
}

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j, k int) int {
	return a + b*2 + c*3 + d + e + f + g + h + i + j + k
}

//go:noinline
func byvalue(it Item, small struct{ A, B int16 }, arr [1]int, big [3]int, after int) int {
	return len(it.Name) + int(small.A) + arr[0] + big[1] + after
}

//go:noinline
func iface(p interface{}, e error, f func(int) int) int {
	if e != nil {
		return f(1)
	}
	return f(2)
}

//go:noinline
func (p Customer) Price(n int) (int, error) { return int(p.ID) * n, nil }

//go:noinline
func deep(n int) int {
	var buf [512]byte
	buf[n%512] = byte(n)
	if n == 0 {
		return int(buf[0])
	}
	return deep(n-1) + int(buf[n%512]&1)
}

func main() {
	c := &Cart{Items: []Item{{"apple", 3, 2}, {"pear", 5, 4}}, Owner: &Customer{42, "ann"}}
	fmt.Println("out:", add(40, 2), greet("bob", 2, true))
	t, err := c.Total(1.5, 7)
	fmt.Println("out:", t, err, many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11))
	fmt.Println("out:", byvalue(c.Items[0], struct{ A, B int16 }{5, 6}, [1]int{9}, [3]int{1, 2, 3}, 77))
	fmt.Println("out:", iface(c, errors.New("x"), func(i int) int { return i + 100 }))
	var p Pricer = *c.Owner
	n, none := p.Price(3)
	fmt.Println("out:", n, none)
	done := make(chan int)
	for i := 0; i < 8; i++ {
		go func(i int) { done <- deep(1000 + i) }(i)
	}
	s := 0
	for i := 0; i < 8; i++ {
		s += <-done
	}
	fmt.Println("out:", s)
}
