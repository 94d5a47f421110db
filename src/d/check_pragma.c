/* Pragmas with meaning for names: attributes, binding, depends_on (d-language.md 1.6, 11.3). */
#include "d/check_impl.h"

/* Words as the parser leaves them: the pragma's name first. */
struct words {
	const char *const *text;
	const struct span *span;
	uint32_t n;
};

static void malformed(struct check *c, const struct words *w, const char *usage)
{
	check_error(c, D_PRAGMA_MALFORM, w->span[0], "malformed #pragma D %s", w->text[0]);
	diag_hint(c->diags, "#pragma D %s %s", w->text[0], usage);
}

static void invalid(struct check *c, const struct words *w, uint32_t i, const char *what)
{
	check_error(c, D_PRAGMA_INVAL, w->span[i], "invalid %s specified by #pragma D %s: %s", what,
		    w->text[0], w->text[i]);
}

/* The identifier of this program, or a promise for the moment it is created; NULL after reporting.
 */
static struct pending_pragma *target(struct check *c, const struct words *w, uint32_t i)
{
	struct ident *id = ident_find(c, SCOPE_GLOBAL, w->text[i]);
	struct pending_pragma *p;

	if (id && (id->is_builtin || id->layer != c->session->layer || id->span.off < c->first_off)) {
		check_error(c, D_PRAGMA_SCOPE, w->span[i],
			    "#pragma D %s may not modify %s, which is defined outside this program",
			    w->text[0], id->name);
		return NULL;
	}
	p = ARENA_NEW(c->arena, struct pending_pragma);
	p->name = w->text[i];
	p->span = w->span[i];
	p->next = c->pending;
	c->pending = p;
	return p;
}

static void apply(struct check *c, struct pending_pragma *p)
{
	struct ident *id = ident_find(c, SCOPE_GLOBAL, p->name);

	if (id)
		ident_apply_pending(c, id);
}

static void provider_attributes(struct check *c, const struct words *w, struct attr a)
{
	struct declared_provider *p = hashmap_finds(c->session->providers, w->text[3]);
	enum provider_part part;

	if (!provider_part_parse(w->text[4], &part)) {
		invalid(c, w, 4, "provider part");
		return;
	}
	if (p)
		p->attrs[part] = a;
	else
		check_error(c, D_PRAGMA_UNUSED, w->span[3],
			    "#pragma D attributes: provider %s is not declared in this program",
			    w->text[3]);
}

static void pragma_attributes(struct check *c, const struct words *w)
{
	struct pending_pragma *p;
	struct attr a;

	if (w->n != 3 && w->n != 5) {
		malformed(c, w, "<attributes> <identifier> | <attributes> provider <name> <part>");
		return;
	}
	if (!attr_parse(w->text[1], &a)) {
		invalid(c, w, 1, "attributes");
		return;
	}
	if (w->n == 5) {
		provider_attributes(c, w, a);
		return;
	}
	p = target(c, w, 2);
	if (!p)
		return;
	p->has_attr = true;
	p->attr = a;
	apply(c, p);
}

/* "1.5" and 1.5 are the same. */
static const char *unquoted(struct check *c, const char *word)
{
	size_t len = strlen(word);

	if (len < 2 || word[0] != '"' || word[len - 1] != '"')
		return word;
	return arena_strndup(c->arena, word + 1, len - 2);
}

static void pragma_binding(struct check *c, const struct words *w)
{
	struct pending_pragma *p;
	uint32_t version;

	if (w->n != 3) {
		malformed(c, w, "\"<version>\" <identifier>");
		return;
	}
	if (!version_parse(unquoted(c, w->text[1]), &version)) {
		invalid(c, w, 1, "version string");
		return;
	}
	p = target(c, w, 2);
	if (!p)
		return;
	p->has_version = true;
	p->version = version;
	apply(c, p);
}

static bool provider_exists(struct check *c, const struct probe_desc *desc)
{
	uint32_t count = 0;
	struct err *e = c->env->match ? c->env->match(c->env->ctx, desc, &count) : NULL;

	err_destroy(e); /* an unusable description is one that matches nothing */
	return count > 0;
}

static bool depends_library(struct check *c, const char *name)
{
	return c->opts->layer != LAYER_PROGRAM; /* the loader has put them in order */
}

static bool depends_module(struct check *c, const char *name)
{
	struct probe_desc desc = {.prov = "", .mod = name, .func = "", .name = ""};

	return strcmp(name, "vmlinux") == 0 || provider_exists(c, &desc);
}

static bool depends_provider(struct check *c, const char *name)
{
	struct probe_desc desc = {.prov = name, .mod = "", .func = "", .name = ""};

	return hashmap_finds(c->session->providers, name) || provider_exists(c, &desc);
}

static const struct {
	const char *class;
	bool (*is_met)(struct check *c, const char *name);
} dependencies[] = {
	{"library", depends_library},
	{"module", depends_module},
	{"provider", depends_provider},
};

static void pragma_depends_on(struct check *c, const struct words *w)
{
	if (w->n != 3) {
		malformed(c, w, "library|module|provider <name>");
		return;
	}
	for (uint32_t i = 0; i < ARRAY_LEN(dependencies); i++) {
		if (strcmp(dependencies[i].class, w->text[1]) != 0)
			continue;
		if (i == 0 && c->opts->layer == LAYER_PROGRAM)
			check_error(c, D_PRAGMA_DEPEND, w->span[1],
				    "main program may not explicitly depend on a library");
		else if (!dependencies[i].is_met(c, w->text[2]))
			check_error(c, D_PRAGMA_DEPEND, w->span[2],
				    "program requires %s %s, which is not there", w->text[1],
				    w->text[2]);
		return;
	}
	invalid(c, w, 1, "class");
}

static const struct {
	const char *name;
	void (*run)(struct check *c, const struct words *w);
} pragmas[] = {
	{"attributes", pragma_attributes},
	{"binding", pragma_binding},
	{"depends_on", pragma_depends_on},
};

void check_pragma(struct check *c, struct decl *d)
{
	const struct words w = {d->pragma.words, d->pragma.spans, d->pragma.nwords};

	for (uint32_t i = 0; i < ARRAY_LEN(pragmas); i++) {
		if (w.n && strcmp(pragmas[i].name, w.text[0]) == 0) {
			pragmas[i].run(c, &w);
			return;
		}
	}
	check_error(c, D_PRAGMA_INVAL, d->span, "invalid D pragma: %s", w.n ? w.text[0] : "");
}

void check_pragmas_unused(struct check *c)
{
	struct pending_pragma *p;

	for (p = c->pending; p; p = p->next)
		if (!p->is_used)
			check_error(c, D_PRAGMA_UNUSED, p->span,
				    "unused #pragma D %s: %s is never declared",
				    p->has_attr ? "attributes" : "binding", p->name);
}
