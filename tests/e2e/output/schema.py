# SPDX-License-Identifier: MIT
"""Validates the output of dtrace against doc/json-schema.json, with Python's jsonschema."""
import copy, functools, json, os

SCHEMA = json.load(open(os.path.join(os.path.dirname(__file__), "../../../doc/json-schema.json")))
try:
    import jsonschema
except ImportError:
    jsonschema = None


@functools.cache
def validator(part):
    """A validator of 'document', 'listing' or 'line'; None where there is no jsonschema."""
    if not jsonschema:
        return None
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator({"$schema": SCHEMA["$schema"], "$defs": SCHEMA["$defs"], "$ref": "#/$defs/" + part})


def deepest(error):
    """The error that says most: of alternatives, that of the one which got furthest."""
    while error.context:
        error = max(error.context, key=lambda e: (len(e.absolute_path), e.validator not in ("const", "enum")))
    return error


def complaints(part, instance):
    v = validator(part)
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in map(deepest, v.iter_errors(instance))] if v else []


def mutants(instance):
    """The same with a member less, one more, one of another type: at every place."""
    def places(x, path=()):
        if isinstance(x, dict):
            yield path
            for k, v in x.items():
                yield from places(v, path + (k,))
        elif isinstance(x, list):
            for i, v in enumerate(x):
                yield from places(v, path + (i,))

    for path in places(instance):
        for how in ("more", "type"):
            new = copy.deepcopy(instance)
            at = new
            for k in path:
                at = at[k]
            if how == "more":
                at["surprise"] = 1
            elif at:
                at[next(iter(at))] = {"other": []}
            yield path, how, new
