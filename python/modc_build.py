"""Build backend (PEP 517) of the wheel: CMake builds and installs modc, this packs what was installed.

The whole installation lies in the package, site-packages/modc/, which is so a prefix for CMake and pkg-config too. There
is nothing to download: this needs Python alone, CMake and what modc needs (README.md). CMAKE_ARGS in the environment
are further options for CMake; libyaml becomes part of the command where its static library is there. The setting `platform`
(pip wheel --config-settings platform=...) is the tag of another machine, as scripts/wheels.sh gives it.
"""
import base64
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.search(r"project\(modc VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
METADATA = f"""Metadata-Version: 2.1
Name: modc
Version: {VERSION}
Summary: Compiles a YAML spec of a torch.nn module tree to standalone C
License: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

"""


def get_requires_for_build_wheel(config_settings=None):
    return [] if shutil.which("cmake") else ["cmake>=3.25"]


def get_requires_for_build_sdist(config_settings=None):
    return []


def install(work, prefix):
    """modc without its documentation, built below `work`."""
    build = work / "build"
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_LIBDIR=lib", "-DMODC_TESTS=OFF", "-DMODC_STATIC_YAML=ON"]
    subprocess.run(["cmake", "-S", ROOT, "-B", build, *options, *shlex.split(os.environ.get("CMAKE_ARGS", ""))], check=True)
    subprocess.run(["cmake", "--build", build, "--parallel", str(os.cpu_count() or 1)], check=True)
    subprocess.run(["cmake", "--install", build, "--strip", "--prefix", prefix, "--component", "modc"], check=True)


def metadata():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return METADATA + readme


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    platform = (config_settings or {}).get("platform") or re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag, info, record = f"py3-none-{platform}", f"modc-{VERSION}.dist-info", []
    name = f"modc-{VERSION}-{tag}.whl"

    with tempfile.TemporaryDirectory() as work, zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        def add(path, data, mode=0o644):
            entry = zipfile.ZipInfo(path)  # of 1980: the same files make the same wheel
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")

        package = Path(work) / "modc"
        install(Path(work), package)
        shutil.copytree(ROOT / "python" / "modc", package, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__"))
        for path in sorted(path for path in package.rglob("*") if path.is_file()):
            add(path.relative_to(work).as_posix(), path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
        for path in ("LICENSE", "NOTICE"):
            add(f"{info}/{path}", (ROOT / path).read_bytes())
        add(f"{info}/METADATA", metadata().encode())
        tags = "".join(f"Tag: py3-none-{one}\n" for one in platform.split("."))
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: modc\nRoot-Is-Purelib: false\n{tags}".encode())
        add(f"{info}/entry_points.txt",
            b"[console_scripts]\nmodc = modc:main\n\n[torch_dynamo_backends]\nmodc = modc._module.dynamo:backend\n")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "".join(record) + f"{info}/RECORD,,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    base = f"modc-{VERSION}"

    def wanted(item):
        parts = item.name.split("/")[1:]
        return None if parts and (parts[0] in ("build", ".git") or parts[-1] == "__pycache__") else item

    with tempfile.TemporaryDirectory() as work, tarfile.open(Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as sdist:
        (Path(work) / "PKG-INFO").write_text(metadata(), encoding="utf-8")
        sdist.add(ROOT, base, filter=wanted)
        sdist.add(Path(work) / "PKG-INFO", f"{base}/PKG-INFO")
    return f"{base}.tar.gz"
