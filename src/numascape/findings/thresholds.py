# SPDX-License-Identifier: Apache-2.0
"""Every number that decides whether something is a finding, each with its reason.

Shares are 0 to 1. bench/findings prints precision and recall of the labelled programs in
tests/integration/findings for these numbers. Details of a method are beside it: how a large matrix
is sampled (page_use.py), how many samples are enough (sample_sizes.py), which lines are close
(analysis/seen_lines.py), how far a directive is searched (sources.py), and bounds of line_cost.py.
"""

from __future__ import annotations

from numascape.prediction import initialisation

MIN_STRUCTURE_SHARE = 0.01
"""Smallest share of the run's accesses for a structure to be examined. If all its accesses took
twice their time, the run would take one percent longer. For findings with a fix, it is the share of
the accesses to memory that several threads use."""

MIN_SHARED_PAGES = 16
"""At or above this number of pages of a structure, its accesses count as those to memory that
several threads use: twice the first cache of a core. Caches serve smaller ones."""

MIN_COMPARED_SHARE = 0.25
"""The accesses of a structure are compared with those to memory that several threads use, but with
at least this share of the run's accesses. An access that a cache answers takes about 1 ns, others
take 5 to 100 ns."""

MIN_FIRST_TOUCH_RATIO = 2.0
"""Ratio of the pages that a thread touched first to the mean over threads. From this ratio on, some
of these pages are probably the memory of other threads."""

HALF_KNOWN_CONFIDENCE = 0.5
"""Confidence of a finding when the trace shows only half of its condition: who touched pages first,
but not who used them."""

MIN_SERIAL_SHARE = initialisation.SERIAL_SHARE
"""At or above this share of a structure's pages that one thread touched first, first touch is
serial. The prediction has the same number, with its reason."""

MAX_LINES_PER_ACCESS = 1 / 128
"""Largest number of lines from memory per access for a structure to be cache-resident, where lines
were counted. It is one line when each of its eight words is used 16 times, as in MIN_REUSE."""

MIN_FOREIGN_SHARE = 0.5
"""At or above this share of the accesses by threads other than the local one, a structure counts as
remote: most accesses then come from elsewhere."""

MIN_FAR_SHARE = MIN_FOREIGN_SHARE / 2
"""The same share if the thread that touched the pages first takes part in the work. If it divides
the work with one other thread, at most half of the accesses can be remote: so the limit is half."""

MIN_DOMINANT_SHARE = 0.75
"""At or above this mean share of a page's busiest thread, a structure is partitioned among threads.
Two threads that share a page evenly have 0.5. A structure with a stencil's halos, or with parts
that share pages at their ends, has more than 0.75, unless parts are only a few pages long."""

MAX_EVEN_SHARE_RATIO = 1.75
"""A structure is shared by all when the busiest thread of a page has at most this many times its
even share of the page."""

MIN_USER_SHARE = 0.05
"""Share of its even part of a page's accesses that a thread needs to count as a user of the page.
One element beside a boundary does not make two parts meet."""

MAX_WRITTEN_SHARE = 0.01
"""Largest share of writes in the accesses of parallel work for which copies are useful. Each write
must be repeated in every copy."""

MIN_INITIAL_BYTES = 4
"""At or above this number of bytes per write of the thread that touched the structure first, these
writes are its initialisation, not work. It is the smallest usual element of a large array."""

MAX_PARALLEL_SHARE = 0.95
"""Largest share of a structure's accesses in a phase by one thread, for the phase to count as work
of several threads."""

MIN_ALONE_SHARE = 0.98
"""At or above this share of a thread's accesses to a structure while no other thread lived, they
are no parallel work. The rest allows for samples that stand for many accesses."""

MIN_WORK_OF_INITIALISER = 0.5
"""Share of the mean accesses of the other threads that the initialising thread must make after
initialisation, to count as one of those who work on the structure."""

MAX_WORK_OF_INITIALISER = 4.0
"""Above this many times the mean accesses of the other threads, the initialising thread does
something else than they do, for example a check."""

MIN_WORK_AFTER_FILL = 1.0
"""At or above this ratio of the accesses of other threads or phases to those of threads that filled
a structure together, filling is no part of the work: each element is then used at least once after
it is written."""

MAX_PART_OF_PAGES = 0.6
"""Share of the used pages below which a thread has its own part. Two halves with an overlap are a
little more than 0.5 each."""

DEFAULT_CACHE_BYTES = 128 << 10
"""Bytes of a structure that stay in the cache of a core: half of 256 KiB, the smallest second-level
cache of server processors since 2010. The other half is for other data. The kind of a finding
does not depend on the machine. The prediction of its gain uses the machine's caches."""

MIN_CACHE_RESIDENT_SHARE = 0.05
"""At or above this share of the run's accesses, a cache-resident structure is reported: it is so
hot that a reader wants to place it."""

MIN_CACHE_RESIDENT_BYTES = 128
"""Smallest size of a cache-resident structure that is reported, and of data that passes from one
thread to another. Two lines or less are a pointer, a lock or a few scalars, which nobody places."""

SECOND_LEVEL_BYTES = 256 << 10
"""Bytes of all structures with similar reuse that stay in the cache of a core together: the other
half of the cache is for them."""

MAX_NEGLIGIBLE_SIZE = 0.05
"""Size of a structure, relative to all structures with similar reuse, up to which it counts as
cache-resident: loops over all of them fetch at most a twentieth of their lines for it."""

MAX_REUSE_RATIO = 4
"""A structure competes for the cache with another one that is used up to this many times more often
per byte. Loops over arrays of similar reuse evict each other."""

MIN_REUSE = 16
"""At or above this number of accesses to each 8 bytes of what a thread uses, the data is reused:
loading it once is then at most a sixteenth of its accesses."""

MIN_BOUNDARY_SHARE = 0.25
"""At or above this share of the accesses on pages with several parts, it is useful to align parts
to pages. Below it, these pages cost less than a quarter of what a wrong placement costs."""

MIN_ORDERED_SHARE = 0.9
"""Share of the steps from page to page in which the order of the parts must hold for parts to be
contiguous. Also the share of a thread's displaced pages that must be on one node for the thread to
have moved. The rest allows for halos."""

MIN_ORDERED_PAGES = 64
"""At or above this number of pages of a structure, the order of their users distinguishes a rule
from chance: 16 pages for each of four threads."""

MIN_PART_ENDS = 0.3
"""Share of the steps from page to page at which the users change, when parts are only a few pages
long. In longer parts, pages with two users are not boundaries."""

MAX_BOUNDARY_USERS = 3.0
"""Largest mean number of users of a page, for contiguous parts that share pages at their ends."""

MIN_FOLLOWED_SHARE = 0.5
"""At or above this share of the accesses on pages that MIN_WRITERS threads write, the lines of
these pages show whether the threads have separate parts: they are then most of the work."""

MAX_SHARED_LINES = 0.25
"""Share of a page's lines that several threads use, up to which the page holds separate parts of
threads. Parts of 512 bytes that begin anywhere share every eighth line with the next one."""

MIN_WRITERS = 2
"""At or above this number of threads that write a page in the work, its lines show whether they
share data: lines that are only read are not followed."""

MIN_LINE_PAIRS = 16
"""Smallest number of times that samples would see two threads in the same line by chance, to decide
whether threads share lines. With this number, chance gives less than a quarter of it in fewer than
0.1 % of all cases (Poisson)."""

MAX_LINE_OVERLAP = 0.25
"""If samples saw two threads in the same line at most this many times as often as by chance, each
thread has its own parts of a page. Parts of 512 bytes that begin anywhere share every eighth."""

MIN_BYTE_PAIRS = 3.0
"""Smallest number of times that samples would see two threads on the same bytes of a line by
chance, to decide whether they use the same bytes. With this number, chance gives no such pair in
5 % of all cases (Poisson)."""

MIN_LINE_OVERLAP = 0.5
"""The same ratio: from here on threads share a page's lines, however regular their shares are."""

MIN_HOME_SHARE = 0.25
"""At or above this share of a thread's accesses to a structure in one cache line, samples show all
bytes that the thread uses in this line."""

MIN_GUEST_SHARE = 0.05
"""At or above this share of a thread's accesses to a structure in a line that another thread
writes, the line slows the thread down. Samples of rarer accesses may not show all used bytes."""

MIN_SEPARATE_SHARE = 0.25
"""At or above this share of the pairs of threads that use no common byte of a line, padding helps.
The heads of three producers in one line are separate, although the consumer reads all of them."""

MIN_WRITTEN_SHARE = 0.05
"""At or above this share of a thread's accesses to a line by code that writes, the line is taken
from others often: each write takes it from all threads that have read it."""

MIN_FALSE_SHARING = 0.5
"""At or above this share of the lines taken from another thread of which the two threads used
different bytes, padding helps more than sharing less."""

MIN_TRANSFERS_PER_ACCESS = 0.0005
"""At or above this number of lines taken from another thread per access of the run, they matter. A
line from another cache takes 50 to 150 ns, other accesses take about 1 ns: this is 2.5 to 7.5 %."""

MIN_PACKED_SHARE = MIN_TRANSFERS_PER_ACCESS
"""At or above this share of the run's accesses that other threads can interrupt by taking the line,
lines with separate data of several threads matter. It is the same as for lines that were counted:
rare accesses, such as one in a thousand, find the line in another cache almost every time."""

MIN_WRITTEN_LINES = 0.005
"""At or above this share of the run's accesses that can take a line with common data from another
thread, lines are a problem. It is ten times MIN_PACKED_SHARE: data that threads share, such as a
lock, may be used by one of them for long before the next one takes it."""

MIN_JUDGED = 100
"""At or above this number of lines taken from another thread with known bytes, the share of false
sharing is known to within 10 percentage points."""

MIN_TRANSFERS = 1000
"""At or above this number of lines taken from another thread, a structure is judged. Fewer lines
take less than 0.2 ms, which is about the time to start the threads."""

MIN_HOT_RATIO = 1.5
"""At or above this ratio of the busiest of equally long parts to the mean, pages are used unevenly.
The node of that part then needs 1.5 times the mean time."""

MIN_PAGES_OF_PART = 4
"""At or above this number of used pages for each thread, equally long parts of a structure are
compared. In shorter parts, one busy page decides."""

MAX_HOT_SHARE = 0.25
"""Largest share of the pages that has half of the accesses, for these pages to be hot. A page among
them is then used three times as often as another one. With even use, it is half of the pages."""

MIN_IMBALANCE = 1.4
"""At or above this ratio of the busiest thread's accesses in a phase to the mean, the load is
imbalanced. With perfect balance the phase would take at most 1 / 1.4 = 71 % of its time."""

MAX_IDLE_RATIO = 0.1
"""Ratio of a thread's accesses to the mean below which it does not take part in the work: it waits,
coordinates, or touches only the end of a block."""

MIN_COMMON_WORK = 0.5
"""At or above this share of the accesses of two threads that read, or write, the same structures,
they do the same work, and can share it evenly. The stages of a pipeline do other work."""

MAX_CHANGING_SHARE = 0.5
"""Share of a phase's accesses on pages whose users change by chance, above which its load is not
judged: most of its work then goes to whichever thread is free."""

MIN_PHASE_SHARE = 0.1
"""Smallest share of the run's accesses for a phase's balance to matter. A saving of a quarter of it
is then 2.5 percent of the run."""

MIN_DISPLACED_PAGES = 6
"""At or above this number of displaced pages of a thread, it is not chance that they are all on one
node. With pages interleaved over two nodes, this happens to one thread in 32."""

MIN_USER_SPREAD = 0.015
"""At or above this variance of a thread's share of a page over pages, relative to its largest
possible value, pages change users. A dynamic schedule repeated r times gives 1/r. More than about
60 changes are the same as evenly shared."""

MIN_THREADS_OF_CHANCE = 4
"""At or above this number of threads, users of pages must also be random without one of them."""

MIN_DRAWN_ACCESSES = 128
"""Accesses to a page between two changes of its user, below which threads look up single entries:
a quarter of the page's words. A schedule or a queue gives a thread a larger part at a time."""

MAX_PAGE_WEIGHT = 4.0
"""Accesses to a page, over those to the median page, up to which they count where chance is judged.
A page with very many accesses has control data or a popular entry, and is not like the others. The
same for data that passes between threads: the head and the tail of a ring are on one page."""

MIN_INNER_SHARE = 0.1
"""At or above this share of the accesses on pages between the ends of instances, these pages are
enough to judge chance without the ends."""

MIN_CHANCE_ACCESSES = 0.5
"""Accesses to a page between two changes of its user, below which threads share pages by a rule: if
each access has a random user, it is 1 or more, because a user makes at least one access. With a
rule, such as every fourth element, each page has the same shares, and it is almost 0."""

MIN_ROLES = 0.5
"""At or above this value of half the sum of the absolute differences between the threads' shares of
the reads and of the writes, some threads produce what others consume. It is 0 if all threads read
and write alike, and 1 if no thread does both."""

MIN_HANDED_SHARE = 0.5
"""At or above this share of the reads by threads that do not write the page, most data passes from
one thread to another."""

MAX_READS_PER_WRITE = 32
"""Largest ratio of reads to writes, and of writes to reads, of data that passes from one thread to
another: each byte is read by up to four consumers, or several times by one. A write may have eight
bytes, and a read one. Data with more reads is used again and again."""

MIN_FILLS = 1.0
"""At or above this number of writes to each byte, a buffer is filled again and again: filling it
once makes at most one write per byte."""

MIN_INSTANCES_OF_STREAM = 16
"""At or above this number of instances of a structure, they follow each other like the blocks of a
stream. They are then more than a block for each thread of a small team."""

MIN_WAITING_SHARE = 0.5
"""At or above this share of the accesses to a structure in loops that wait for another thread, its
accesses are no work."""

MAX_BLOCK_RUNS = 3
"""Runs of pages with the same users, per thread, above which pages are assigned at random and not
in blocks. With blocks, the users change at most three times at a border: before a page with halos,
at the page with both parts, and after it."""

MIN_TURN_CORRELATION = 0.9
"""At or above this correlation of the users of pages at a fixed distance, parts are dealt out in
turn, as `schedule(static, 1)` does. It is 1 if all threads have equally many parts."""

MIN_PERIODIC_CORRELATION = 0.5
"""At or above this correlation of the users of pages at a fixed distance, pages are assigned in a
regular pattern, such as the columns of a matrix."""

MIN_USER_DIFFERENCE = 0.1
"""At or above this value of half the sum of the absolute differences of two pages' shares by
thread, their users differ."""

MIN_WRITERS_IN_TURN = 0.5
"""At or above this share of the threads that write a page, its users change if the range of the
loop does. If a part only becomes shorter at its ends, a page has one or two writers."""

MIN_PHASE_WORK = 0.1
"""Share of a structure's parallel work that a phase must have for its users to be compared with
those of other phases."""

MIN_MAIN_STAGE = 2 / 3
"""At or above this share of the work on a structure in one stage, this stage alone decides how
threads share the structure: it then has twice the work of all others together."""

MIN_FILLED_SHARE = 0.5
"""Share of a structure's pages that a phase touched first, above which this phase filled it."""

MIN_CHANGED_SHARE = 0.4
"""At or above this share of the use of pages that has one main user in one phase and another in the
other phase, the phases divide the work differently. If two threads divide the rows of a matrix in
one phase and its columns in the other, half of the pages change their user."""

MIN_DIVIDED_SHARE = 0.5
"""At or above this share of the accesses in phases in which pages have one user each, these phases
are compared: what happens in the other ones is less important."""

MIN_HUGE_PAGES = 4
"""At or above this number of whole 2 MiB pages that a structure has at any address, false sharing
of them is reported. Smaller structures fit into the last-level cache of most server processors."""

MIN_ONE_NODE_SHARE = 0.75
"""At or above this share of the accesses that the memory of one node serves, it is the bottleneck,
if no node's threads make more than MAX_ONE_NODE_THREADS of all accesses."""

MAX_ONE_NODE_THREADS = 0.6
"""Largest share of the accesses by threads of one node for the work to be spread over nodes."""

MIN_DISPLACED_SHARE = 0.1
"""At or above this share of a structure's pages that are not on their first toucher's node, this is
reported as a cause."""

MIN_FULL_NODE_PROBABILITY = 0.8
"""At or above this probability that a displaced page was touched later than a page in its place,
the node was full. Chance gives 0.5, as for pages that a policy spreads."""

MAX_INTERLEAVED_RATIO = 1.3
"""Ratio of the pages on the fullest node to the mean, up to which pages count as interleaved."""

MAX_REMOTE_SHARE = 0.1
"""Share of a structure's accesses that go to another node, below which its pages are well placed,
whichever thread touched them first."""

MIN_GAIN = 0.01
"""Share of the run's accesses below which a finding is left out, for the same reason as
MIN_STRUCTURE_SHARE. Another fix of a finding is advised before the usual one only if it saves more
of the run time, and the difference is above this share."""

LOOKUP_WEIGHT = 10
"""Where MIN_GAIN decides, a lookup by a random thread counts as this many accesses: it takes about
20 ns if the last-level cache answers, and most other accesses take 1 to 2 ns."""

MIN_LOOKUP_BYTES = 2 << 20
"""LOOKUP_WEIGHT applies to memory from this size on: second-level caches have 1 to 2 MiB."""

MIN_RELEVANT_GAIN = 0.02
"""At or above this predicted share of the run time, a fix matters. The times of two runs of the
same program often differ by more than this."""

MIN_COMPUTING_SHARE = 0.5
"""At or above this share of the predicted time in which the busiest thread executes accesses, the
run computes more than it waits for memory."""

MAX_SHARED_SHARE = 0.25
"""Share of the accesses to pages that another thread touched first, up to which little is shared.
It is 1 - MIN_DOMINANT_SHARE."""


def sureness(value: float, threshold: float, certain: float) -> float:
    """Return a confidence: 0.5 for a value at its threshold, 1 for one at `certain`."""
    return min(1.0, max(0.5, 0.5 + 0.5 * (value - threshold) / (certain - threshold)))
