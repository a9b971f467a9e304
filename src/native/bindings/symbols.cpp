// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include "given_table.h"
#include "places.h"
#include "table.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
namespace symbols = numascape::symbols;

namespace {

// File names and symbols may be any bytes: invalid UTF-8 becomes U+FFFD.
nb::str text(const std::string& bytes) {
    PyObject* decoded =
        PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
    if (decoded == nullptr) throw nb::python_error();
    return nb::steal<nb::str>(decoded);
}

std::vector<std::uint64_t> unwind_stack(symbols::Symbols& self, const symbols::Registers& registers,
                                        std::uint64_t stack_address, const nb::bytes& stack,
                                        std::size_t limit) {
    const auto* bytes = static_cast<const std::byte*>(stack.data());
    return self.unwind(registers, stack_address, std::span(bytes, stack.size()), limit);
}

nb::dict code_places(symbols::Symbols& self, const nb::object& pcs,
                     const nb::callable& is_library) {
    numascape::GivenTable addresses(pcs);
    symbols::PlaceCollector collector(
        [&](const std::string& function, const std::string& file, const std::string& module) {
            return nb::cast<bool>(is_library(text(function), text(file), text(module)));
        });
    self.add_places(std::span(addresses.column<std::uint64_t>("pc"), addresses.rows()), collector);
    symbols::Places found = collector.take();
    nb::list texts;
    for (const std::string& name : found.texts) texts.append(text(name));
    nb::dict out;
    out["texts"] = texts;
    numascape::Table numbers;
    numbers.add("place", std::move(found.place));
    out["numbers"] = nb::cast(std::move(numbers));
    numascape::Table of_places;
    of_places.add("function", std::move(found.function));
    of_places.add("file", std::move(found.file));
    of_places.add("line", std::move(found.line));
    out["places"] = nb::cast(std::move(of_places));
    return out;
}

std::string describe(const symbols::Frame& frame) {
    return "Frame(" + frame.function + " at " + frame.file + ":" + std::to_string(frame.line) + ")";
}

std::string describe(const symbols::Global& global) {
    return "Global(" + global.name + ", " + std::to_string(global.size) + " bytes)";
}

void bind_code(nb::module_& m) {
    nb::class_<symbols::Module>(m, "Module", "An ELF file mapped by the recorded process")
        .def(
            "__init__",
            [](symbols::Module* self, nb::handle path, std::uint64_t start, std::uint64_t end,
               std::uint64_t load_bias) {
                PyObject* encoded = nullptr;
                if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw nb::python_error();
                const nb::bytes bytes = nb::steal<nb::bytes>(encoded);
                new (self) symbols::Module{std::string(bytes.c_str(), bytes.size()), start, end,
                                           load_bias};
            },
            "path"_a, "start"_a, "end"_a, "load_bias"_a,
            nb::sig("def __init__(self, path: str, start: int, end: int, load_bias: int) -> None"))
        .def_prop_ro("path", [](const symbols::Module& self) { return text(self.path); })
        .def_ro("start", &symbols::Module::start)
        .def_ro("end", &symbols::Module::end)
        .def_ro("load_bias", &symbols::Module::load_bias);

    nb::class_<symbols::Frame>(m, "Frame", "A function active at a code address")
        .def_prop_ro("function", [](const symbols::Frame& self) { return text(self.function); })
        .def_prop_ro("file", [](const symbols::Frame& self) { return text(self.file); })
        .def_ro("line", &symbols::Frame::line)
        .def_ro("column", &symbols::Frame::column)
        .def_prop_ro("module", [](const symbols::Frame& self) { return text(self.module); })
        .def_ro("offset", &symbols::Frame::offset,
                "Bytes from the start of the function that is not inlined")
        .def_ro("inlined", &symbols::Frame::inlined)
        .def_ro("entry_line", &symbols::Frame::entry_line,
                "Where the function that is not inlined begins; 0 for addresses other than its "
                "first, and when unknown")
        .def_prop_ro(
            "call_notes", [](const symbols::Frame& self) { return text(self.call_notes); },
            "Notes of numascape-cc about the calls here, one per line; empty with other compilers")
        .def("__repr__", [](const symbols::Frame& self) { return text(describe(self)); });
}

void bind_variables(nb::module_& m) {
    nb::class_<symbols::Global>(m, "Global", "A variable with static storage")
        .def_prop_ro("name", [](const symbols::Global& self) { return text(self.name); })
        .def_ro("address", &symbols::Global::address)
        .def_ro("size", &symbols::Global::size)
        .def_prop_ro("file", [](const symbols::Global& self) { return text(self.file); })
        .def_ro("line", &symbols::Global::line)
        .def_ro("points_to_data", &symbols::Global::points_to_data)
        .def_prop_ro("module", [](const symbols::Global& self) { return text(self.module); })
        .def_prop_ro("function", [](const symbols::Global& self) { return text(self.function); })
        .def("__repr__", [](const symbols::Global& self) { return text(describe(self)); });

    nb::class_<symbols::FrameVariable>(m, "FrameVariable", "A variable in the frame of a function")
        .def_prop_ro("name", [](const symbols::FrameVariable& self) { return text(self.name); })
        .def_prop_ro("function",
                     [](const symbols::FrameVariable& self) { return text(self.function); })
        .def_prop_ro("file", [](const symbols::FrameVariable& self) { return text(self.file); })
        .def_prop_ro("module", [](const symbols::FrameVariable& self) { return text(self.module); })
        .def_ro("line", &symbols::FrameVariable::line)
        .def_prop_ro(
            "base", [](const symbols::FrameVariable& self) { return static_cast<int>(self.base); },
            "The place from which `offset` is counted: FramePlace::Base of replay.h")
        .def_ro("offset", &symbols::FrameVariable::offset)
        .def_ro("size", &symbols::FrameVariable::size);
}

}  // namespace

void bind_symbols(nb::module_& module) {
    nb::module_ m =
        module.def_submodule("symbols", "The meaning of the addresses of a recorded program");

    bind_code(m);
    bind_variables(m);
    nb::class_<symbols::Symbols>(m, "Symbols",
                                 "Functions, call stacks and variables of a process' modules")
        .def(nb::init<std::vector<symbols::Module>, std::string>(), "modules"_a, "cache"_a = "")
        .def(
            "frames", [](symbols::Symbols& self, std::uint64_t pc) { return self.frames(pc); },
            "pc"_a,
            "The functions active at a code address, innermost inlined one first; never empty. "
            "Pass a return address minus 1.")
        .def("places", &code_places, "pcs"_a, "is_library"_a,
             "The distinct places of a table of code addresses, `pc`: the table `numbers` with the "
             "`place` of each address, and the table `places` with the `function` and `file` "
             "(indices of the list `texts`) and `line` of each place.")
        .def(
            "unwind", &unwind_stack, "registers"_a, "stack_address"_a, "stack"_a, "limit"_a = 64,
            "Code addresses of the call stack, innermost first, from the registers in the order of "
            "DWARF's numbers, the return address last, and a copy of the stack's memory.")
        .def("globals", &symbols::Symbols::globals,
             "All variables with static storage, by address and without overlap")
        .def("frame_variables", &symbols::Symbols::frame_variables, "pc"_a, "of_data"_a,
             "The variables of at least a page for which the instruction at `pc` makes room on the "
             "stack. `of_data`: how much depends on data.")
        .def("thread_variables", &symbols::Symbols::thread_variables, "address"_a,
             "The thread-local variables of the executable that has this address, by offset from "
             "the thread pointer and without overlap.")
        .def("save", &symbols::Symbols::save, "Writes what was read to the folder `cache`.");
}
