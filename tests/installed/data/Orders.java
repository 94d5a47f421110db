/* SPDX-License-Identifier: MIT */
import java.util.*;

public class Orders {
	static class Item {
		int number;

		Item(int number) {
			this.number = number;
		}
	}

	static class Order {
		int id;
		List<Item> items = new ArrayList<>();
		Map<String, Boolean> note = new HashMap<>(Map.of("paid", true));

		Order(int id) {
			this.id = id;
			for (int n = 0; n < 100; n++)
				items.add(new Item(n));
		}
	}

	static void known_here(Order order, String word) throws Exception {
		System.out.println("ready");
		System.in.read();
	}

	static void known_outer(int id) throws Exception {
		known_here(new Order(id), "word");
	}

	public static void main(String[] args) throws Exception {
		known_outer(4711);
	}
}
