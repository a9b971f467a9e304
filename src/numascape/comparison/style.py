# SPDX-License-Identifier: Apache-2.0
"""The style of a comparison's page; it has the colours of the report."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { --ink: #15191e; --soft: #58636f; --line: #dde3e9; --ground: #f5f7f9; --panel: #fff;
  --local: #3a86c0; --remote: #d9730d; --good: #1a7f4b; --bad: #b3261e; --old: #b8c1ca }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif }
header, main { max-width: 1320px; margin: 0 auto; padding: 0 28px }
header { padding-top: 34px }
h1 { margin: 0 0 16px; font-size: 28px; line-height: 1.2; letter-spacing: -0.01em;
  overflow-wrap: anywhere }
h2 { margin: 0 0 10px; font-size: 18px }
h3 { margin: 0; font-size: 13.5px; font-weight: 600; color: var(--soft) }
p { margin: 0 }
.kind { color: var(--soft); font-size: 13.5px }
.note { margin-top: 8px; color: var(--soft); font-size: 13.5px }
.runs, .findings { display: grid; gap: 18px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)) }
.runs section, main > section { background: var(--panel); border: 1px solid var(--line);
  border-radius: 10px; padding: 18px 22px }
.runs h2 { font-size: 14px; margin: 0 0 4px; color: var(--soft) }
.runs p + p { margin-top: 4px; color: var(--soft); font-size: 13.5px }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 14px;
  overflow-wrap: anywhere }
main { padding-bottom: 60px }
main > section { margin-top: 20px }
.tiles { display: grid; gap: 14px 28px;
  grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)) }
.tile { padding-left: 12px; border-left: 3px solid var(--line) }
.tile p { font-size: 17px }
.tile b { font-size: 21px }
.tile .old { color: var(--soft) }
.tile .change { font-size: 13.5px; color: var(--soft) }
.tile.better { border-color: var(--good) } .tile.better .change { color: var(--good) }
.tile.worse { border-color: var(--bad) } .tile.worse .change { color: var(--bad) }
.findings h3 span { font-weight: 400 }
.findings .better h3 { color: var(--good) } .findings .worse h3 { color: var(--bad) }
.findings ul { margin: 6px 0 0; padding-left: 18px; font-size: 14px }
.findings li { margin-bottom: 6px; overflow-wrap: anywhere }
.findings summary { color: var(--soft); font-size: 13px; cursor: pointer }
.findings details p { margin-top: 4px; color: var(--soft); font-size: 13px }
.findings li b { font-weight: 600 }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: 14px }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: 13px;
  padding: 4px 14px 6px 0; white-space: nowrap }
td { padding: 7px 14px 7px 0; border-top: 1px solid var(--line); vertical-align: top;
  white-space: nowrap }
td:first-child { max-width: 320px; white-space: normal; overflow-wrap: anywhere }
small { color: var(--soft) }
.bars { width: 150px }
.bar { position: relative; height: 15px; margin: 2px 0; font-size: 12px; line-height: 15px }
.bar i { position: absolute; inset: 0 auto 0 0; border-radius: 2px; transform-origin: left;
  scale: 0.64 1 } /* the rest is for the number */
.bar.before i { background: var(--old) }
.bar.after i { background: var(--local) }
.bar.foreign.after i, .bar.remote.after i { background: var(--remote) }
.bar span { position: absolute; right: 0; color: var(--soft) }
.bar.after span { color: var(--ink) }
.nodes { display: flex; width: 170px; height: 15px; margin: 2px 0; border-radius: 2px;
  overflow: hidden; font-size: 11px; line-height: 15px; color: var(--soft) }
.nodes:first-child { opacity: 0.6 }
.nodes i { font-style: normal; color: #fff; text-align: center; overflow: hidden }
.node0 { background: #0072b2 } .node1 { background: #c98a00 } .node2 { background: #00805e }
.node3 { background: #b4649a } .node4 { background: #3d93c9 } .node5 { background: #c55400 }
.node6 { background: #6a7681 } .node7 { background: #7d5ab5 }
figure { margin: 18px 0 0; padding-top: 14px; border-top: 1px solid var(--line) }
figcaption { font-weight: 600; overflow-wrap: anywhere }
img { display: block; width: 100%; height: auto; margin-top: 4px }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7eaee; --soft: #9aa5b1; --line: #303841; --ground: #14181c; --panel: #1c2127;
    --local: #4f9bd6; --remote: #ee9546; --good: #5cc48d; --bad: #f2837b; --old: #56616c }
  img { background: #fff; border-radius: 6px; padding: 4px }
}
"""
