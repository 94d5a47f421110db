# SPDX-License-Identifier: MIT
# SPDX-License-Identifier: MIT
"""Makes wheels of the Python packages of this tree for pip (PEP 517), with Python and, for an extension, a C compiler alone.

setuptools makes a wheel only where the package wheel is, too. A new virtual environment of Debian 12 has no wheel, one of a later Python has
neither, and pip would download both; this downloads nothing. bindings/python has a link to this file.

Facts     wheels: PEP 427; metadata: PEP 566; tags: PEP 425.
"""
import base64
import glob
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

HERE = os.getcwd()  # pip runs a backend in the folder of its package
TREE = os.path.join(HERE, "..", "..", "lib", "usdt")
INCLUDES = ["libusdt"]
MACROS = [("_GNU_SOURCE", "1")]
COMPILE = ["-std=gnu17", "-fvisibility=hidden"]
LINK = ["-pthread", "-Wl,-z,nodelete", "-Wl,-Bsymbolic"]


def extension():
    """The name of the extension of this package, or None."""
    found = glob.glob("*module.c")
    return found[0][: -len("module.c")] if found else None


def sources():
    """The sources of the extension; those of libusdt come from the tree, or from the copy that a source distribution has."""
    if os.path.isdir(TREE):
        os.makedirs("libusdt", exist_ok=True)
        for path in glob.glob(os.path.join(TREE, "*.[ch]")):
            shutil.copy(path, "libusdt")
    return sorted(glob.glob("*module.c")) + sorted(glob.glob("libusdt/*.c"))


def project():
    """The texts of the table [project] in pyproject.toml: tomllib came with Python 3.11."""
    with open("pyproject.toml", encoding="utf-8") as f:
        table = f.read().split("[project]")[1].split("\n[")[0]
    return dict(re.findall(r'^([\w-]+) = (?:\{ text = )?"(.*?)"(?: \})?$', table, re.M))


def read(path):
    with open(path, "rb") as f:
        return f.read()


def compiled(name):
    """The bytes of the extension."""
    cc = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, name)
        argv = [*cc, "-shared", "-fPIC", "-O2", *COMPILE, *(f"-D{k}={v}" for k, v in MACROS), *(f"-I{d}" for d in INCLUDES),
                "-I" + sysconfig.get_path("include"), "-I" + sysconfig.get_path("platinclude"),
                *shlex.split(os.environ.get("CFLAGS", "")), *sources(), "-o", out, *LINK, *shlex.split(os.environ.get("LDFLAGS", ""))]
        try:
            subprocess.run(argv, check=True)
        except FileNotFoundError:
            sys.exit(f"there is no compiler {cc[0]!r}: install one (Debian: gcc, python3-dev), or say which in CC")
        except subprocess.CalledProcessError:
            sys.exit("the extension cannot be compiled: it needs the headers of Python (Debian: python3-dev)")
        return read(out)


def contents():
    """What the wheel installs: {path: bytes}."""
    files = {p: read(p) for p in sorted(glob.glob("*/*.py")) if os.path.exists(os.path.join(os.path.dirname(p), "__init__.py"))}
    name = extension()
    if name:
        path = name + sysconfig.get_config_var("EXT_SUFFIX")
        files[path] = compiled(path)
    return files


def metadata(p):
    head = [("Metadata-Version", "2.1"), ("Name", p["name"]), ("Version", p["version"]), ("Summary", p["description"]), ("License", p["license"]),
            ("Requires-Python", p["requires-python"]), ("Description-Content-Type", "text/markdown")]
    return "".join(f"{k}: {v}\n" for k, v in head).encode() + b"\n" + read(p["readme"])


def tag():
    if not extension():
        return "py3-none-any"
    python = "cp%d%d" % sys.version_info[:2]
    return f"{python}-{python}-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    p = project()
    base = f"{p['name']}-{p['version']}"
    files = contents()
    files[f"{base}.dist-info/METADATA"] = metadata(p)
    pure = "false" if extension() else "true"
    files[f"{base}.dist-info/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: wheel_backend.py\nRoot-Is-Purelib: {pure}\nTag: {tag()}\n".encode()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{base}.dist-info/RECORD"] = (record + f"{base}.dist-info/RECORD,,\n").encode()
    name = f"{base}-{tag()}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o100755 if path.endswith(".so") else 0o100644) << 16
            z.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    p = project()
    base = f"{p['name']}-{p['version']}"
    if extension():
        sources()
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT, dereference=True) as t:
        for path in sorted(glob.glob("*.*") + glob.glob("*/*.py") + glob.glob("libusdt/*.[ch]")):
            if os.path.isfile(path):
                t.add(path, f"{base}/{path}")
        info = tarfile.TarInfo(f"{base}/PKG-INFO")
        info.size = len(metadata(p))
        t.addfile(info, io.BytesIO(metadata(p)))
    return base + ".tar.gz"
