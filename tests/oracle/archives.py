"""What PyTorch said, as archives: tests/vectors/SPEC.tar has the files of all cases of one spec.

Builds unpack them into build/vectors (cmake/ModcVectors.cmake), where everything reads them. The same files give the
same archive, so that one which holds no new number does not change.
"""
import io
import pathlib
import shutil
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHIVES = ROOT / "tests" / "vectors"
UNPACKED = ROOT / "build" / "vectors"


def table():
    """name -> line, of tests/vectors/cases.txt"""
    lines = (ARCHIVES / "cases.txt").read_text().splitlines()
    return {line.split()[0]: line for line in lines if line and not line.startswith("#")}


def unpack():
    """By the build's script, which knows what is there already; without CMake all of it."""
    if shutil.which("cmake"):
        subprocess.run(["cmake", "-P", ROOT / "cmake" / "ModcVectors.cmake"], check=True)
        return
    for path in sorted(ARCHIVES.glob("*.tar")):
        with tarfile.open(path) as archive:
            archive.extractall(UNPACKED)


def archive_of(line):
    """The archive of a case, given its line of the table."""
    spec = pathlib.Path(line.split()[1])
    prefix = spec.parent.name + "_" if spec.parent.name in ("layers", "language") else ""
    return ARCHIVES / f"{prefix}{spec.stem}.tar"


def packed(folders):
    """Of those folders that are there, with their files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(file for folder in folders if folder.is_dir() for file in folder.iterdir()):
            info = tarfile.TarInfo(str(path.relative_to(UNPACKED)))
            info.size, info.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                archive.addfile(info, file)
        end = archive.offset
    return content.getvalue()[:end + 2 * tarfile.BLOCKSIZE] if end else b""


def pack():
    """The archives become what build/vectors has of the table's cases."""
    folders = {}
    for name, line in table().items():
        folders.setdefault(archive_of(line), []).append(UNPACKED / name)
    for path in ARCHIVES.glob("*.tar"):
        folders.setdefault(path, [])
    for path, cases in folders.items():
        content = packed(cases)
        if not content:
            path.unlink(missing_ok=True)
        elif not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
