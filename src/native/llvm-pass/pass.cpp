// SPDX-License-Identifier: Apache-2.0
//
// The plugin for clang and flang. It inserts counting code after the optimiser has simplified the
// code, but before it vectorises loops. Without optimisation, or if the linker will optimise, it
// runs at the end of the compilation.
#include "counting.h"
#include "fortran_loops.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "names.h"

namespace numascape::pass {
namespace {

using namespace llvm;

constexpr char kCounted[] = "numascape-counted";
constexpr size_t kMaxEntries = 400;  // of a segment: places are numbered in 9 bits

bool is_ours(const Function& function) {
    return function.getName().starts_with("__numascape") || function.hasFnAttribute(kCounted);
}

// The dynamic linker calls such a function before the thread has any thread-local memory.
bool is_resolver(const Function& function) {
    for (const GlobalIFunc& indirect : function.getParent()->ifuncs()) {
        if (indirect.getResolverFunction() == &function) {
            return true;
        }
    }
    return false;
}

bool is_wanted(const Function& function) {
    return !function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
           !function.hasFnAttribute(Attribute::Naked) && !is_ours(function) &&
           !is_resolver(function);
}

void add_to_segments(const Access& access, LoopCounts& loops, SmallVectorImpl<Segment>& segments,
                     bool continues) {
    if (!continues || segments.back().accesses.size() == kMaxEntries) {
        Loop* outside = loops.outermost_without_calls(access.instruction->getParent());
        segments.push_back({{}, access.instruction, outside, {}, {}});
    }
    segments.back().accesses.push_back(access);
}

// Whether no unknown call comes between two instructions of a block.
bool together(const Instruction* first, const Instruction* second) {
    if (first == nullptr || first->getParent() != second->getParent()) {
        return false;
    }
    for (const Instruction* at = first; at != second; at = at->getNextNode()) {
        if (is_unknown_call(*at)) {
            return false;
        }
    }
    return true;
}

struct CountAccesses : PassInfoMixin<CountAccesses> {
    PreservedAnalyses run(Function& function, FunctionAnalysisManager& analyses) {
        if (!is_wanted(function)) {
            return PreservedAnalyses::all();
        }
        function.addFnAttr(kCounted);
        SiteWriter sites(*function.getParent());
        FunctionCounter counter(function, sites);
        SmallVector<Segment> segments;
        {
            auto& evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
            auto& loop_info = analyses.getResult<LoopAnalysis>(function);
            const FortranLoops fortran(function, loop_info);
            if (fortran.known()) {
                evolution.forgetAllLoops();
            }
            auto& tree = analyses.getResult<DominatorTreeAnalysis>(function);
            SCEVExpander expander(evolution, function.getDataLayout(), "numascape");
            LoopCounts loops(loop_info, evolution, tree, expander);
            SmallVector<std::pair<Access, Nest>> announced;
            const Instruction* last = nullptr;
            for (const Access& access : find_accesses(function)) {
                Nest nest;
                if (loops.describe(access, nest)) {
                    announced.emplace_back(access, nest);
                    continue;
                }
                add_to_segments(access, loops, segments, together(last, access.instruction));
                last = access.instruction;
            }
            for (const Announced& each : join_nests(announced, evolution)) {
                counter.announce(each, expander);
            }
            for (Segment& segment : segments) {
                segment.neighbours = find_neighbours(segment.accesses, evolution);
                segment.executions = loops.executions_of(segment.accesses);
                if (segment.executions.before != nullptr) {
                    counter.announce(segment, expander);
                }
            }
            counter.prepare(segments);
        }
        counter.finish_announcements();
        for (const Segment& segment : segments) {
            counter.count(segment);
        }
        counter.announce_marks();
        counter.announce_regions();
        return PreservedAnalyses::none();
    }
    static bool isRequired() { return true; }  // also run on optnone functions
};

void add_passes(FunctionPassManager& passes) {
    passes.addPass(LoopSimplifyPass());  // gives loops preheaders and exits of their own
    passes.addPass(CountAccesses());
}

void add_to(PassBuilder& builder) {
    InitializeNativeTargetAsmParser();  // flang initialises none, but the counting code is assembly
    builder.registerPipelineStartEPCallback(
        [](ModulePassManager& passes, OptimizationLevel) { passes.addPass(NameAllocations()); });
    builder.registerVectorizerStartEPCallback(
        [](FunctionPassManager& passes, OptimizationLevel) { add_passes(passes); });
    builder.registerOptimizerLastEPCallback([](ModulePassManager& passes, OptimizationLevel) {
        FunctionPassManager of_functions;
        add_passes(of_functions);
        passes.addPass(createModuleToFunctionPassAdaptor(std::move(of_functions)));
    });
}

}  // namespace
}  // namespace numascape::pass

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "numascape", "1", numascape::pass::add_to};
}
