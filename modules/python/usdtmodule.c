/* SPDX-License-Identifier: MIT */
/*
 * Probes of Python programs, made at run time: libusdt for Python.
 *
 *     provider = usdt.Provider("shop", "server")
 *     sale = usdt.Probe("sell", "sale", "char *", "int")
 *     provider.add_probe(sale)
 *     provider.enable()
 *     sale.fire("tea", 4)
 *
 * A probe must not change what the program does. Therefore fire() raises nothing: what cannot be
 * converted to the argument's type is 0, or an empty string.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>

#include "usdt.h"

static PyObject *usdt_error;

struct probe {
	PyObject_HEAD usdt_probedef_t *def;
	uint32_t strings; /* a bit for each argument that is a string */
};

struct provider {
	PyObject_HEAD usdt_provider_t *provider;
};

/* Raises usdt.Error with the library's text. */
static PyObject *error_raise(usdt_provider_t *pv)
{
	PyErr_SetString(usdt_error, usdt_errstr(pv));
	return NULL;
}

/* ---- Probe ----------------------------------------------------------------------------------- */

static bool is_string(const char *type)
{
	return strcmp(type, "char *") == 0 || strcmp(type, "const char *") == 0 ||
	       strcmp(type, "string") == 0;
}

/* Puts the types of a call's arguments into a list: each is a text, or a sequence of texts. */
static PyObject *types_flatten(PyObject *args, Py_ssize_t first)
{
	PyObject *list = PyList_New(0);

	for (Py_ssize_t i = first; list && i < PyTuple_GET_SIZE(args); i++) {
		PyObject *arg = PyTuple_GET_ITEM(args, i);
		Py_ssize_t end = PyList_GET_SIZE(list);
		int failed = PyUnicode_Check(arg) ? PyList_Append(list, arg)
						  : PyList_SetSlice(list, end, end, arg);

		if (failed)
			Py_CLEAR(list);
	}
	return list;
}

static int probe_define(struct probe *p, const char *func, const char *name, PyObject *types)
{
	Py_ssize_t n = PyList_GET_SIZE(types);
	const char *texts[USDT_ARG_MAX];

	if (n > USDT_ARG_MAX) {
		PyErr_Format(PyExc_ValueError, "a probe has at most %d arguments", USDT_ARG_MAX);
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		texts[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(types, i));
		if (!texts[i])
			return -1;
		if (is_string(texts[i])) {
			texts[i] = "char *";
			p->strings |= 1u << i;
		}
	}
	p->def = usdt_create_probe(func, name, (size_t)n, texts);
	if (!p->def) {
		(void)error_raise(NULL);
		return -1;
	}
	return 0;
}

/* Probe(function, name, type, ...) */
static int probe_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct probe *p = (struct probe *)self;
	PyObject *two, *types;
	const char *func, *name;
	int ret = -1;

	if (kwargs && PyDict_GET_SIZE(kwargs)) {
		PyErr_SetString(PyExc_TypeError, "Probe() has no keyword arguments");
		return -1;
	}
	if (p->def) {
		PyErr_SetString(PyExc_TypeError, "a probe is made only once");
		return -1;
	}
	two = PyTuple_GetSlice(args, 0, 2);
	types = types_flatten(args, 2);
	if (two && types && PyArg_ParseTuple(two, "ss:Probe", &func, &name))
		ret = probe_define(p, func, name, types);
	Py_XDECREF(two);
	Py_XDECREF(types);
	return ret;
}

static void probe_dealloc(PyObject *self)
{
	struct probe *p = (struct probe *)self;

	if (p->def)
		usdt_probe_release(p->def);
	Py_TYPE(self)->tp_free(self);
}

/* Converts to 64 bits: what is no number is 0, larger numbers lose their upper bits. */
static void *integer_of(PyObject *value)
{
	PyObject *number = PyNumber_Check(value) ? PyNumber_Long(value) : NULL;
	unsigned long long n = number ? PyLong_AsUnsignedLongLongMask(number) : 0;

	Py_XDECREF(number);
	PyErr_Clear();
	return (void *)(uintptr_t)n;
}

/* Returns the text of a value, which *ret_keep keeps; "" if it has none. */
static void *text_of(PyObject *value, PyObject **ret_keep)
{
	const char *text = NULL;

	*ret_keep = NULL;
	if (PyBytes_Check(value)) {
		text = PyBytes_AS_STRING(value);
	} else if (PyUnicode_Check(value)) {
		text = PyUnicode_AsUTF8(value);
	} else if (value != Py_None) {
		*ret_keep = PyObject_Str(value);
		text = *ret_keep ? PyUnicode_AsUTF8(*ret_keep) : NULL;
	}
	if (!text) { /* a text with a surrogate has no UTF-8 */
		PyErr_Clear();
		text = "";
	}
	return (void *)(uintptr_t)text;
}

static void probe_fire_args(struct probe *p, PyObject *const *args, Py_ssize_t n)
{
	PyObject *keep[USDT_ARG_MAX] = {NULL}, *kind, *value, *trace;
	void *argv[USDT_ARG_MAX];
	Py_ssize_t argc = (Py_ssize_t)p->def->argc;

	PyErr_Fetch(&kind, &value, &trace); /* the caller may be handling an exception */
	for (Py_ssize_t i = 0; i < argc; i++)
		if (p->strings & 1u << i)
			argv[i] = text_of(i < n ? args[i] : Py_None, &keep[i]);
		else
			argv[i] = i < n ? integer_of(args[i]) : NULL;
	usdt_fire_probe(p->def->probe, (size_t)argc, argv);
	for (Py_ssize_t i = 0; i < argc; i++)
		Py_XDECREF(keep[i]);
	PyErr_Restore(kind, value, trace);
}

static PyObject *probe_fire(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	struct probe *p = (struct probe *)self;

	if (p->def && usdt_is_enabled(p->def->probe)) {
		/* one list or tuple stands for the arguments */
		if (n == 1 && (PyList_Check(args[0]) || PyTuple_Check(args[0]))) {
			PyObject *all = PySequence_Tuple(args[0]); /* str() may change a list */

			if (!all)
				return NULL;
			probe_fire_args(p, &PyTuple_GET_ITEM(all, 0), PyTuple_GET_SIZE(all));
			Py_DECREF(all);
		} else {
			probe_fire_args(p, args, n);
		}
	}
	Py_RETURN_NONE;
}

static PyObject *probe_is_enabled(PyObject *self, PyObject *ignored)
{
	const struct probe *p = (struct probe *)self;

	(void)ignored;
	return PyBool_FromLong(p->def && usdt_is_enabled(p->def->probe));
}

static PyObject *probe_get_name(PyObject *self, void *which)
{
	const usdt_probedef_t *def = ((struct probe *)self)->def;

	if (!def)
		Py_RETURN_NONE;
	return PyUnicode_FromString(which ? def->function : def->name);
}

static PyMethodDef probe_methods[] = {
	{"fire", (PyCFunction)(void (*)(void))probe_fire, METH_FASTCALL,
	 "fire(*args): fires the probe if somebody traces it; a list stands for its elements"},
	{"is_enabled", probe_is_enabled, METH_NOARGS, "True while somebody traces the probe"},
	{NULL},
};

static PyGetSetDef probe_getset[] = {
	{"name", probe_get_name, NULL, "the probe's name", NULL},
	{"function", probe_get_name, NULL, "the function in the probe's description", (void *)1},
	{NULL},
};

static PyTypeObject probe_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "usdt.Probe",
	.tp_doc = "Probe(function, name, *types): a probe; \"char *\" is a string, else an integer",
	.tp_basicsize = sizeof(struct probe),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.tp_new = PyType_GenericNew,
	.tp_init = probe_init,
	.tp_dealloc = probe_dealloc,
	.tp_methods = probe_methods,
	.tp_getset = probe_getset,
};

/* ---- Provider -------------------------------------------------------------------------------- */

/* Provider(provider="python", module=None) */
static int provider_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"provider", "module", NULL};
	struct provider *pv = (struct provider *)self;
	const char *name = "python", *module = NULL;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|sz:Provider", names, &name, &module))
		return -1;
	if (pv->provider) {
		PyErr_SetString(PyExc_TypeError, "a provider is made only once");
		return -1;
	}
	pv->provider = usdt_create_provider(name, module);
	if (!pv->provider) {
		(void)error_raise(NULL);
		return -1;
	}
	return 0;
}

static void provider_dealloc(PyObject *self)
{
	struct provider *pv = (struct provider *)self;

	if (pv->provider)
		usdt_provider_free(pv->provider);
	Py_TYPE(self)->tp_free(self);
}

static PyObject *provider_change(PyObject *self, PyObject *probe,
				 int (*change)(usdt_provider_t *, usdt_probedef_t *))
{
	usdt_provider_t *pv = ((struct provider *)self)->provider;

	if (!PyObject_TypeCheck(probe, &probe_type)) {
		PyErr_SetString(PyExc_TypeError, "the argument is no usdt.Probe");
		return NULL;
	}
	if (change(pv, ((struct probe *)probe)->def))
		return error_raise(pv);
	Py_RETURN_NONE;
}

static PyObject *provider_add_probe(PyObject *self, PyObject *probe)
{
	return provider_change(self, probe, usdt_provider_add_probe);
}

static PyObject *provider_remove_probe(PyObject *self, PyObject *probe)
{
	return provider_change(self, probe, usdt_provider_remove_probe);
}

static PyObject *provider_enable(PyObject *self, PyObject *ignored)
{
	usdt_provider_t *pv = ((struct provider *)self)->provider;

	(void)ignored;
	if (usdt_provider_enable(pv))
		return error_raise(pv);
	Py_RETURN_NONE;
}

static PyObject *provider_disable(PyObject *self, PyObject *ignored)
{
	usdt_provider_t *pv = ((struct provider *)self)->provider;

	(void)ignored;
	if (usdt_provider_disable(pv))
		return error_raise(pv);
	Py_RETURN_NONE;
}

static PyObject *provider_get_name(PyObject *self, void *which)
{
	const usdt_provider_t *pv = ((struct provider *)self)->provider;

	if (!pv)
		Py_RETURN_NONE;
	return PyUnicode_FromString(which ? pv->module : pv->name);
}

static PyMethodDef provider_methods[] = {
	{"add_probe", provider_add_probe, METH_O,
	 "add_probe(probe): the probe appears when enable() is next called"},
	{"remove_probe", provider_remove_probe, METH_O,
	 "remove_probe(probe), while the provider is disabled"},
	{"enable", provider_enable, METH_NOARGS, "makes all probes visible to tracers"},
	{"disable", provider_disable, METH_NOARGS, "makes them disappear, until enable()"},
	{NULL},
};

static PyGetSetDef provider_getset[] = {
	{"name", provider_get_name, NULL, "the provider's name, without the process id", NULL},
	{"module", provider_get_name, NULL, "the module in the probes' descriptions", (void *)1},
	{NULL},
};

static PyTypeObject provider_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "usdt.Provider",
	.tp_doc = "Provider(provider=\"python\", module=None): a set of probes of this process",
	.tp_basicsize = sizeof(struct provider),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.tp_new = PyType_GenericNew,
	.tp_init = provider_init,
	.tp_dealloc = provider_dealloc,
	.tp_methods = provider_methods,
	.tp_getset = provider_getset,
};

static struct PyModuleDef usdt_module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "usdt",
	.m_doc = "DTrace probes of Python programs, made at run time",
	.m_size = -1,
};

PyMODINIT_FUNC PyInit_usdt(void)
{
	PyObject *m = PyModule_Create(&usdt_module);

	usdt_error = PyErr_NewException("usdt.Error", NULL, NULL);
	if (!m || !usdt_error || PyModule_AddObjectRef(m, "Error", usdt_error) ||
	    PyModule_AddType(m, &probe_type) || PyModule_AddType(m, &provider_type) ||
	    PyModule_AddIntConstant(m, "ARG_MAX", USDT_ARG_MAX)) {
		Py_XDECREF(m);
		return NULL;
	}
	return m;
}
