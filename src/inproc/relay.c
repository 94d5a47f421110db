/* SPDX-License-Identifier: MIT */
/*
 * Relays: which sites are relayed, and the slots at which the kernel's engine has uprobes.
 *
 * A uprobe costs what its instruction costs to be executed elsewhere. Where the kernel emulates the
 * instruction, as a push, that is no more than a nop; else the thread is stepped over a copy of it,
 * which takes ten to forty times as long. So a site is relayed if its instruction is stepped, or if
 * the filter may spare the trap. What the unit in the kernel sees is the thread as it is at the
 * site: the stub restores all registers, and the stack pointer if the function has pushed something
 * before the window; only the program counter is the slot's, and is taken from a table there
 * (unit_probe.relay_pc).
 */
#include "arch/arch.h"
#include "arch/stub.h"
#include "files/gate.h"
#include "inproc/impl.h"

/*
 * Instructions that the kernel emulates at a uprobe: Linux arch/x86/kernel/uprobes.c,
 * branch_setup_xol_ops() and push_setup_xol_ops().
 */
static bool insn_is_emulated(const uint8_t *code)
{
	bool has_rex = (code[0] & 0xf0) == 0x40;
	uint8_t op = has_rex ? code[1] : code[0];

	return (op >= 0x50 && op <= 0x57) ||		 /* push %reg */
	       (!has_rex && (op == 0x90 ||		 /* nop */
			     op == 0xe8 ||		 /* call */
			     op == 0xe9 || op == 0xeb || /* jmp */
			     (op & 0xf0) == 0x70 ||	 /* jcc rel8 */
			     (op == 0x0f && (code[1] & 0xf0) == 0x80)));
}

const char *inproc_relay_lack(const struct inproc *p, const struct unit *u, uint32_t i,
			      const struct place_site *s, const struct layout *l)
{
	const struct inproc_site *site = inproc_site_find(p, &u->probes[i], s);
	const struct inproc_file *f = inproc_file_find(p, &s->file->inode);
	struct native_reads reads = native_relay_reads(u, i);
	const uint8_t *code;
	uint64_t addr;

	if (!site || !site->window || !f || !segments_addr(&f->segs, s->off, &addr))
		return "have no window";
	if (inproc_is_copied(f, addr))
		return "are in code that is mapped once more, and their clauses run in the kernel";
	if (f->is_apart)
		return "are too far from the others, and their clauses run in the kernel";
	if (s->operands || s->counter_off)
		return "are at probes of the program's own, whose clauses run in the kernel";
	if (u->probes[i].spot == SPOT_CALL)
		return "are at calls, and their clauses run in the kernel";
	if (site->nwindows > 1) /* a slot leads back to one stub */
		return "have windows at several ways to them";
	if (site->is_entry && reads.args & site->window->changed_args)
		return "write an argument that the script reads";
	if (site->is_entry && reads.regs && site->window->addr != addr)
		return "write a register that the script may read";
	code = flow_code(f->flow, addr, 2);
	if (code && insn_is_emulated(code) && native_filter_is_true(u, i, l))
		return "cost no more as uprobes";
	return NULL;
}

bool inproc_has_relays(const struct inproc *p, const char **ret_why)
{
	*ret_why = patch_relays_lack(p->patch);
	return !*ret_why && patch_relays_fd(p->patch) >= 0;
}

bool inproc_filter_is_true(const struct inproc *p, const struct unit *u, uint32_t probe)
{
	struct native_target t;

	if (!p->patch)
		return true;
	t = inproc_target(p);
	t.is_sampled = true;
	return native_filter_is_true_in(u, probe, &t);
}

void inproc_set_sampled(struct inproc *p)
{
	p->is_sampled = p->plan && p->plan->samples_off;
}

bool inproc_is_sampled(const struct inproc *p)
{
	return p->is_sampled;
}

void inproc_end_samples(const struct inproc *p)
{
	struct err *e = p->is_sampled && p->data ? ndata_samples_end(p->data) : NULL;

	if (e)
		inproc_debug(p, "samples", e);
	err_destroy(e); /* the process has cut off its data, and with it what was noted */
}

/* The inode as the mappings of the process show it. */
static struct file_inode slots_inode(const struct gate_file *f)
{
	return (struct file_inode){file_id_of(f).dev, file_id_of(f).ino};
}

void inproc_relays_place(struct inproc *p, const struct unit *u, struct relay_slots *ret,
			 uint64_t *ret_pcs)
{
	uint32_t n = 0;

	if (!p->relays.opened) {
		p->relays.opened = gate_file_of(patch_relays_fd(p->patch));
		p->relays.inode = slots_inode(p->relays.opened);
		p->relays.name = p->relays.path = "fathom-relays";
	}
	*ret = (struct relay_slots){&p->relays, p->nslots, STUB_SLOT_SIZE, ret_pcs};
	for (uint32_t i = 0; i < u->nprobes; i++)
		for (uint32_t k = 0; k < u->probes[i].code->sites.len; k++, n++) {
			const struct place_site *s = &u->probes[i].code->sites.data[k];
			const struct inproc_file *f = inproc_file_find(p, &s->file->inode);
			struct inproc_site *site = inproc_site_find(p, &u->probes[i], s);
			uint64_t addr = 0;

			if (!f || !site || !segments_addr(&f->segs, s->off, &addr))
				BUG("a relay without a window");
			site->slot = ++p->nslots;
			ret_pcs[n] = f->bias + addr;
		}
}

void inproc_relays_deinit(struct inproc *p)
{
	gate_file_close(p->relays.opened);
	strbuf_deinit(&p->slots);
}

taddr inproc_slot_addr(const struct inproc *p, const struct inproc_site *s)
{
	return patch_relays_addr(p->patch) + (uint64_t)(s->slot - 1) * STUB_SLOT_SIZE;
}

struct err *inproc_slot_make(struct inproc *p, const struct inproc_site *s, taddr goes_on)
{
	uint8_t code[STUB_SLOT_SIZE];

	while (p->slots.len < s->slot * STUB_SLOT_SIZE)
		strbuf_addc(&p->slots, '\xcc');
	if (!arch.stubs->slot_make(inproc_slot_addr(p, s), goes_on, code))
		return err_new("the relays of process %d are too far from its stubs",
			       (int)p->opts.pid);
	memcpy(p->slots.data + (s->slot - 1) * STUB_SLOT_SIZE, code, sizeof(code));
	return NULL;
}

struct err *inproc_slots_write(struct inproc *p)
{
	return p->slots.len ? patch_relays_write(p->patch, p->slots.data, p->slots.len) : NULL;
}
