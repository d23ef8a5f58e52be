"""Recorded sources of a real library."""

from __future__ import annotations

from shaderc_tool.formats.metallib import read_library
from shaderc_tool.formats.metallib_sources import read_sources
from tests import corpora


def test_the_sources_of_a_real_library() -> None:
    ((_, data),) = corpora.metallibs("msplat")
    library = read_library(data)
    sources = read_sources(library)
    assert sources is not None
    (archive,) = sources.archives
    assert sources.link_command.split()[0].endswith("/bin/metallib")
    assert archive.identifier == "msplat_metal"
    assert archive.input_name.endswith("/msplat_metal.air")
    assert archive.working_folder == sources.working_folder
    assert " -frecord-sources" in archive.options
    assert {function.source_offset for function in library.functions} == {archive.offset}
    text = archive.files[-1].data.decode()
    # Every kernel of the library is in the source that the library claims to be made from.
    for function in library.functions:
        assert function.name.split("<")[0] in text


def test_a_library_without_sources() -> None:
    ((_, data),) = corpora.metallibs("pennylane-metal")
    assert read_sources(read_library(data)) is None
