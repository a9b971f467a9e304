# SPDX-License-Identifier: Apache-2.0
"""Single statements: the name to which the result of the call at `@` is assigned."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from numascape.naming import name_allocation


@dataclass(frozen=True)
class SourceFrame:
    file: str
    line: int
    column: int
    function: str
    module: str = "/opt/program"


C = [
    ("A = @malloc(n);", "A"),
    ("double *A = @malloc(n);", "A"),
    ("double *restrict A = (double *)@malloc(n), *B;", "A"),
    ("double **A, *B = @malloc(n);", "B"),
    ("double (*A)[8] = @malloc(n);", "A"),
    ("static double *A;\nA = @malloc(n);", "A"),
    ("grid->vx = @malloc(n);", "grid->vx"),
    ("grid -> vx\n  =\n  (double *)\n  @malloc(\n    n);", "grid -> vx"),
    ("fields[i] = @malloc(n);", "fields[i]"),
    ("fields[i + 1].data[0] = @malloc(n);", "fields[i + 1].data[0]"),
    ("(*grid).vx = @malloc(n);", "(*grid).vx"),
    ("*grid->rows = @malloc(n);", "*grid->rows"),
    ("A = B = @malloc(n);", "B"),
    ("A = n ? @malloc(n) : 0;", "A"),
    ("A = (free(B), @malloc(n));", "A"),
    ("if (!(A = @malloc(n))) return;", "A"),
    ("if ((A = (double *)@calloc(n, 8)) == NULL || n == 1) return;", "A"),
    ("while ((A = @malloc(n)) == 0) n--;", "A"),
    ("for (A = @malloc(n); n; n--) ;", "A"),
    ("for (int i = 0; i < n; i++) rows[i] = @malloc(n);", "rows[i]"),
    ("do { A = @malloc(n); } while (0);", "A"),
    ("switch (n) { case 1: A = @malloc(n); break; }", "A"),
    ("A = @realloc(B, n);", "A"),
    ("A = memset(@malloc(n), 0, n);", "A"),
    ("@posix_memalign(&A, 64, n);", "A"),
    ("@posix_memalign((void **)&grid->vx, 64, n);", "grid->vx"),
    ("if (@posix_memalign((void **)(&A), 64, n) != 0) return;", "A"),
    ("int ierr = @MPI_Alloc_mem(n, MPI_INFO_NULL, &A);", "A"),
    ("int rc = @db_open(name, &db);", "db"),
    ("cudaMallocHost((void **)@&A, n);", "A"),
    ("CHECK(@cudaMallocManaged(&A, n));", "A"),
    # The library's own memory: a number cannot point to it.
    ("int c; @MPI_Init_thread(&c, 0, 3, &c);", "MPI_Init_thread()"),
    ("int c, rc = @MPI_Init_thread(&c, 0, 3, &c);", "MPI_Init_thread()"),
    ("uintptr_t A; int rc = @reserve(&A, n);", "A"),
    ("double halo[8]; @MPI_Isend(&halo[i], 1);", "MPI_Isend()"),
    ("double *halo = B; @MPI_Isend(&halo[i], 1);", "MPI_Isend()"),
    ("unsigned long count = 1; @MPI_Reduce(&count, 1);", "MPI_Reduce()"),
    ("double *rows[8]; @make_row(&rows[i]);", "rows[i]"),
    ("char *line; size_t n; @getline(&line, &n, stdin);", "line"),
    ("struct list l; @list_init(&l);", "l"),
    ("int count; struct list l; @list_init(&count, &l);", "l"),
    ("@TRY(A = malloc(n));", "A"),
    ("@ALLOC_OR_DIE(A, n * sizeof *A);", "A"),
    ("@ALLOC(double, grid->vx, n);", "grid->vx"),
    ("double *A = @NEW(double, n);", "A"),
    ("struct field F = {@malloc(n), 3};", "F"),
    ("struct field F = {.count = 3, .values = @malloc(n)};", "F.values"),
    ("struct p { double *u; int n, *v; };\nstruct p F = {@malloc(n), 3};", "F.u"),
    ("struct p { double *u; int n, *v; };\nstruct p F = {0, 3, @malloc(n)};", "F.v"),
    ("struct p { double *u; };\nstruct p F = {0, @malloc(n)};", "F"),
    ("typedef struct { double *u, *v; } p;\np F = {0, @malloc(n)};", "F.v"),
    ("struct p { double *u, *v; };\nstruct p F[2] = {{0}, {0, @malloc(n)}};", "F[1].v"),
    ("struct p { double *u, *v; };\n*F = (struct p){0, @malloc(n)};", "F->v"),
    ("struct p { struct { int i; } u; double *v; } F = {{0}, @malloc(n)};", "F.v"),
    ("void *list[2] = {NULL, @malloc(n)};", "list[1]"),
    ("*F = (struct field){.values = @malloc(n)};", "F->values"),
    ("list_append(&list, @malloc(n));", "list"),
    ("consume(@malloc(n));", "consume()"),
    ("((struct header *)A)->next = @malloc(n);", "((struct header *)A)->next"),
    ("A = mmap(0, n, 3, 34, -1, 0); B = @mmap(0, n, 3, 34, -1, 0);", "B"),
    ("A /* first */ = /* second */ @malloc(n); // third", "A"),
    ("#ifdef BIG\nA = @malloc(n);\n#endif", "A"),
    ("#pragma omp parallel\n{ A = @malloc(n); }", "A"),
    ("if (n)\n#if 1\nA = @malloc(n);\n#else\nB = 0;\n#endif", "A"),
    ('A = @mmap(0, n, PROT_READ, MAP_SHARED, open("a;b{", 0), 0);', "A"),
    ("@free(A);", "free()"),
    ("double *tmp = @realloc(v->x, n); if (!tmp) return; v->x = tmp;", "v->x"),
    ("double *C = @malloc(n); arguments[0].C = C;", "C"),
    ("int *tmp = @malloc(n), *other; other = tmp;", "tmp"),
    ("void *memory; if (@posix_memalign(&memory, 64, n)) return; float *x = memory;", "x"),
    ("void *memory = @malloc(n); A = (double *)memory;", "A"),
    ("void *memory = @malloc(n); void *other = memory; memory = other;", "memory"),
]

CPP = [
    ("auto *A = @new double[n];", "A"),
    ("double *A{@new double[n]};", "A"),
    ("struct P { int f(); double *u, *v; };\nP F{nullptr, @new double[n]};", "F.v"),
    ("struct P { static int c; double *u, *v; };\nauto F = P{nullptr, @new double[n]};", "F.v"),
    ("struct P { P(int, double *); double *u, *v; };\nP F{1, @new double[n]};", "F"),
    ("double *A(@new double[n]);", "A"),
    ("A = @new (std::align_val_t{64}) double[n];", "A"),
    ("rows = @new int*[n];", "rows"),
    ("rows = new int*[n@];", "rows"),
    ("int **rows = new int*[n@];", "rows"),
    ("grid->rows = new Cell *@[n];", "grid->rows"),
    ("std::vector<double> v@(n);", "v"),
    ("std::vector<double> v@(n, 0.0), w(3);", "v"),
    ("std::vector<double> u(3), v@(n, 0.0);", "v"),
    ("std::vector<double> v@{1.0, 2.0};", "v"),
    ("auto v = std::vector<double>@(n);", "v"),
    ("const auto v = @make(n);", "v"),
    ("v.@resize(n);", "v"),
    ("grid->fields[i].@assign(n, 0.0);", "grid->fields[i]"),
    ("v.@push_back(1.0);", "v"),
    ("v.emplace_back@(n);", "v"),
    ("rows.push_back(std::vector<double>@(n));", "rows"),
    ("v = std::move(@make(n));", "v"),
    ("auto p = std::@make_unique<double[]>(n);", "p"),
    ("p = std::@make_shared<Grid>(n);", "p"),
    ("std::unique_ptr<double[]> p(@new double[n]);", "p"),
    ("std::unique_ptr<double[], Free> p{static_cast<double *>(@std::malloc(n))};", "p"),
    ("p.reset(@new double[n]);", "p"),
    ("table[key] @= value;", "table[key]"),
    ("v @= w;", "v"),
    ("s @+= w;", "s"),
    ("if (auto *p = @allocate(n); p != nullptr) use(p);", "p"),
    ("if (auto *p = @allocate(n)) use(p);", "p"),
    ("auto [p, size] = @allocate(n);", "[p, size]"),
    ("auto A = reinterpret_cast<double *>(@aligned_alloc(64, n));", "A"),
    ('Kokkos::View<double **> A@("A", n, n);', "A"),
    ("Eigen::MatrixXd A = Eigen::MatrixXd::@Zero(n, n);", "A"),
    ("ns::pool.data = @alloc<double>(n);", "ns::pool.data"),
    ("static std::vector<double> cache@(n);", "cache"),
    ("thread_local auto *scratch = @new char[n];", "scratch"),
    ("std::string s = a @+ b;", "s"),
    ("auto f = [&] { inner = @new double[n]; };", "inner"),
    ("for (Shard &shard : shards) shard.slots.@resize(n);", "shards[].slots"),
    ("for (auto &&shard : this->shards) { shard.slots.@resize(n); }", "shards[].slots"),
    ("for (auto &row : grid->rows) row.@assign(n, 0.0);", "grid->rows[]"),
    ("for (auto &[key, list] : lists) list.@resize(n);", "lists[]"),
    ("for (auto *shard : shards) shard->slots = @new Slot[n];", "shards[]->slots"),
    ("for (auto &p : planes) for (auto &row : p.rows) row.@resize(n);", "planes[].rows[]"),
    ("for (auto copy : rows) copy.@resize(n);", "copy"),
    ("for (auto &row : make(n)) row.@resize(n);", "row"),
    ("for (auto &row : rows) v.@resize(n);", "v"),
    ("Shard &shard = shards[k % 16]; shard.slots.@resize(n);", "shards[k % 16].slots"),
    ("auto &row = grid->rows[i]; if (n) { row.@resize(n); }", "grid->rows[i]"),
    ("for (auto &p : planes) { auto &row = p.rows[0]; row.@resize(n); }", "planes[].rows[0]"),
    ("auto row = rows[i]; row.@resize(n);", "row"),
    ("auto &row = make(n); row.@resize(n);", "row"),
    ("Host &h = hosts[@key(i)]; h.site = 3;", "hosts[]"),
    ("Host &h = grid->hosts[@key(i)];", "grid->hosts[]"),
    ("Host h = hosts[@key(i)];", "h"),
    ("auto &row = rows[i]; { std::vector<int> row; row.@resize(n); }", "row"),
]

FORTRAN = [
    ("allocate(@u(n))", "u"),
    ("ALLOCATE ( U(n) )@", "U"),
    ("allocate(grid%u(0:n+1, n))@", "grid%u"),
    ("allocate(grids(i)%fields(j)%p(n), stat=ierr)@", "grids(i)%fields(j)%p"),
    ("allocate(u(n), v(n))@", "u, v"),
    ("allocate(real(8) :: u(n))@", "u"),
    ("allocate(u, source=v)@", "u"),
    ("allocate(u(n), mold=v)@", "u"),
    ("if (.not. allocated(u)) allocate(u(n))@", "u"),
    ("allocate( &\n  u(n), & ! first\n  v(n)  &\n)@", "u, v"),
    ("u = v + w@", "u"),
    ("u(1:n) = matmul(a, b)@", "u"),
    ("grid%u = v@", "grid%u"),
    ("u = 0; allocate(v(n))@", "v"),
    ("call solve(u(1:n:2))@", "solve()"),
]


RUST = [
    ("let v = @vec![0.0; n];", "v"),
    ("let mut v: Vec<f64> = Vec::@with_capacity(n);", "v"),
    ("let v: Vec<f64> = (0..n).map(|i| i as f64).@collect();", "v"),
    ("let v = @read(n)?;", "v"),
    ("let b = @Box::new([0u8; 4096]);", "b"),
    ("let g = Grid { u: @vec![0.0; n], v: 3 };", "g.u"),
    ("grid.u = @vec![0.0; n];", "grid.u"),
    ("v.@resize(n, 0.0);", "v"),
    ("self.rows[i].@push(1.0);", "self.rows[i]"),
    ("let (a, b) = @split(n);", "(a, b)"),
    ("@fill(&mut v, n);", "fill()"),
    ("static TABLE: Vec<u8> = @make();", "TABLE"),
    ("for shard in &mut shards { shard.slots = @vec![0; n]; }", "shards[].slots"),
    ("for (k, row) in self.rows.iter_mut().enumerate() { row.@resize(n, k); }", "self.rows[]"),
    ("for row in made() { row.@resize(n, 0); }", "row"),
    ("let row = &mut rows[i]; row.@resize(n, 0);", "rows[i]"),
    ("let mut row = rows[i].clone(); row.@resize(n, 0);", "row"),
]


CALLS_OF_OLD = {"malloc(n)": "make", "make(n, 1)": "fill", "fill(&kept": "main"}


def name_of(folder, suffix: str, heading: str, statement: str, ending: str, columns: bool) -> str:
    text = f"{heading}\n{statement}\n{ending}\n"
    before = text[: text.index("@")]
    source = folder / f"statement{suffix}"
    source.write_text(text.replace("@", ""))
    column = len(before.rpartition("\n")[2]) + 1 if columns else 0
    return name_allocation([SourceFrame(str(source), before.count("\n") + 1, column, "f")]).name


@pytest.mark.parametrize(("statement", "name"), C)
def test_c(statement, name, tmp_path):
    heading = "void f(struct grid *grid, int n) {\n  int i = 0;\n  double *A, *B;"
    assert name_of(tmp_path, ".c", heading, statement, "}", True) == name


@pytest.mark.parametrize(("statement", "name"), CPP)
def test_cpp(statement, name, tmp_path):
    heading = "namespace ns {\ntemplate <typename T>\nauto f(Grid *grid, int n) -> void {"
    assert name_of(tmp_path, ".cc", heading, statement, "}\n}", True) == name


@pytest.mark.parametrize(
    ("initialised", "name"),
    [
        ("items_(@make(n)), size_(n)", "items_"),
        ("size_(n), cells_(@make(n))", "cells_"),
        ("Base(@make(n)), size_(n)", "Base()"),
        ("Base(n), size_(@make(n))", "Shop::Shop+5"),  # gcc's place for arguments of the base
    ],
)
def test_what_a_constructor_initialises(initialised, name, tmp_path):
    heading = "class Shop : Base {\n  double *items_;\n  union { double *cells_; int *rows_; };\n"
    source = tmp_path / "shop.cpp"
    before = f"  Shop(int n) : {initialised[: initialised.index('@')]}"
    after = initialised[initialised.index("@") + 1 :]
    source.write_text(f"{heading}  int size_;\n{before}{after} {{}}\n}};\n")
    assert (
        name_allocation([SourceFrame(str(source), 5, len(before) + 1, "Shop::Shop")]).name == name
    )


@pytest.mark.parametrize(("statement", "name"), FORTRAN)
def test_fortran(statement, name, tmp_path):
    heading = "subroutine f(n)\n  integer, intent(in) :: n"
    assert name_of(tmp_path, ".f90", heading, statement, "end subroutine", True) == name


@pytest.mark.parametrize(("statement", "name"), RUST)
def test_rust(statement, name, tmp_path):
    heading = "impl Grid {\nfn f(&mut self, n: usize) {"
    assert name_of(tmp_path, ".rs", heading, statement, "}\n}", True) == name


def test_rust_functions_that_return_what_they_allocate(tmp_path):
    source = tmp_path / "wrapped.rs"
    source.write_text(
        "fn make(n: usize) -> Vec<u8> {\n    vec![0; n]\n}\n"
        "fn local(n: usize) -> Vec<u8> {\n    let mut made = make(n);\n    made\n}\n"
        "fn main() {\n    let kept = local(3);\n}\n"
    )
    lines = [("make", 2, 5), ("local", 5, 20), ("main", 9, 16)]
    frames = [SourceFrame(str(source), line, column, name) for name, line, column in lines]
    found = name_allocation(frames)
    assert (found.name, found.function, found.line) == ("kept", "main", 9)
    assert name_allocation(frames[:2]).name == "made"


@pytest.mark.parametrize("kept", ["float *", "float *\n", "", "static void *", "char "])
def test_functions_that_declare_their_parameters_behind_them(kept, tmp_path):
    """C as it was written before 1989."""
    source = tmp_path / "old.c"
    source.write_text(
        f"{kept}make(n, m)\nint n;\nint m;  /* not used */\n{{\n  float *made;\n"
        "  made = (float *) malloc(n);\n  return (made);\n}\n"
        "void fill(rows, n) float **rows; int n;\n{\n  *rows = make(n, 1);\n}\n"
        "int main()\n{\n  float *kept;\n  fill(&kept, 3);\n}\n"
    )
    text = source.read_text().splitlines()
    lines = {
        call: next(n for n, line in enumerate(text, 1) if call in line) for call in CALLS_OF_OLD
    }
    frames = [
        SourceFrame(str(source), lines[call], text[lines[call] - 1].index(call) + 1, function)
        for call, function in CALLS_OF_OLD.items()
    ]
    assert name_allocation(frames).name == "kept"


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("float **make(int n) { float **a = outer(n); a[i] = @malloc(n); return a; }", "kept[i]"),
        (
            "void *make(int n) { float **a = outer(n); a[i][j] = @malloc(n); return a; }",
            "kept[i][j]",
        ),
        ("float **make(int n) { float **a = outer(n); a[i] = @malloc(n); return b; }", "a[i]"),
    ],
)
def test_elements_of_an_array_that_is_returned(function, name, tmp_path):
    source = tmp_path / "array.c"
    caller = "int main() { kept = make(3); }"
    source.write_text(f"{function.replace('@', '')}\n{caller}\n")
    frames = [
        SourceFrame(str(source), 1, function.index("@") + 1, "make"),
        SourceFrame(str(source), 2, caller.index("make") + 1, "main"),
    ]
    assert name_allocation(frames).name == name


@pytest.mark.parametrize(
    ("parameter", "name"),
    [
        ("float **a", "rows[i]"),
        ("float *a[]", "rows[i]"),
        ("std::vector<float *> &a", "rows[i]"),
        ("std::vector<float *> a", "a[i]"),
    ],
)
def test_elements_of_an_array_that_is_given(parameter, name, tmp_path):
    source = tmp_path / "array.cpp"
    fill, caller = f"void fill({parameter}) {{ a[i] = @malloc(n); }}", "int main() { fill(rows); }"
    source.write_text(f"{fill.replace('@', '')}\n{caller}\n")
    frames = [
        SourceFrame(str(source), 1, fill.index("@") + 1, "fill"),
        SourceFrame(str(source), 2, caller.index("fill") + 1, "main"),
    ]
    assert name_allocation(frames).name == name


def test_arguments_of_main_are_no_memory_of_libraries(tmp_path):
    source = tmp_path / "ranks.c"
    source.write_text("int main(int argc, char **argv) {\n    MPI_Init(&argc, &argv);\n}\n")
    found = name_allocation([SourceFrame(str(source), 2, 5, "main")])
    assert found.name == "MPI_Init()"


ONE_CALL = [pair for pair in C if pair[0].count("alloc(") == 1 and "free(" not in pair[0]]


@pytest.mark.parametrize(("statement", "name"), ONE_CALL)
def test_c_without_columns(statement, name, tmp_path):
    """Names without columns (-gno-column-info), which is enough for one allocation in a line."""
    heading = "void f(struct grid *grid, int n) {\n  int i = 0;\n  double *A, *B;"
    assert name_of(tmp_path, ".c", heading, statement, "}", False) == name


def test_fixed_form_fortran(tmp_path):
    source = tmp_path / "old.f"
    source.write_text(
        "C     allocate(wrong(n))\n"
        "      subroutine f(n)\n"
        "      real*8, allocatable :: u(:), v(:)\n"
        "      allocate(u(n),\n"
        "     &         v(n))\n"
        "*     a comment\n"
        "  100 allocate(w(n))\n"
        "      end\n"
    )
    names = [name_allocation([SourceFrame(str(source), n, 0, "f")]).name for n in (4, 5, 7)]
    assert names == ["u, v", "u, v", "w"]


def test_automatic_arrays_of_fortran(tmp_path):
    source = tmp_path / "automatic.f90"
    source.write_text(
        "subroutine f(n, argument)\n"
        "  integer :: n\n"
        "  real(8) :: argument(n)\n"
        "  real(8) :: fixed(100)\n"
        "  real(8), allocatable :: later(:)\n"
        "  real(8) :: first(n), second(2*n)\n"
        "end subroutine\n"
    )
    names = [name_allocation([SourceFrame(str(source), n, 0, "f")]).name for n in (1, 6)]
    assert names == ["first, second", "first, second"]


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".c", "void other(int n) {\nA = malloc(n);\n}\n"),
        (".cpp", "void Grid::other(int n) {\nA = new double[n];\n}\n"),
        (".f90", "subroutine other(n)\nallocate(a(n))\nend subroutine\n"),
        (".rs", "fn other(n: usize) {\nlet a = vec![0; n];\n}\n"),
    ],
)
def test_another_function_in_the_place_means_another_source(suffix, text, tmp_path):
    source = tmp_path / f"source{suffix}"
    source.write_text(text)
    for column in (0, 9):
        assert name_allocation([SourceFrame(str(source), 2, column, "f")]).name == "f+2"
        assert name_allocation([SourceFrame(str(source), 2, column, "other")]).name in "aA"
