// SPDX-License-Identifier: Apache-2.0
// Numbers for people. Digits are grouped with thin spaces.

import { format, formatLocale } from "d3-format";

const THIN = "\u202f";
const locale = formatLocale({ decimal: ".", thousands: THIN, grouping: [3], currency: ["", ""] });
const whole = locale.format(",.0f");
const three = format(".3~r");

export function count(value: number): string {
  return whole(value);
}

/** A sentence whose numbers stay on one line with a "%" behind them. */
export function keepPercentsTogether(sentence: string): string {
  return sentence.replace(/(\d) %/g, `$1${THIN}%`);
}

/** Three digits and a unit word: 12.3 k, 4.56 M, 7.8 G. */
export function short(value: number): string {
  if (value < 10_000) return value < 100 && value % 1 ? three(value) : whole(value);
  for (const [size, unit] of [
    [1e15, "P"],
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (value >= size) return `${three(value / size)}${THIN}${unit}`;
  }
  return whole(value);
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  const digits = unit === 0 || size >= 100 ? whole(size) : three(size);
  return `${digits}${THIN}${units[unit]}`;
}

/** A share of 1 as percent. A value above 0 is never shown as 0. */
export function share(value: number): string {
  const percent = value * 100;
  if (percent === 0) return `0${THIN}%`;
  if (percent < 0.01) return `<${THIN}0.01${THIN}%`;
  if (percent < 99.95) return `${percent.toFixed(percent < 1 ? 2 : 1)}${THIN}%`;
  return value < 1 ? `>${THIN}99.9${THIN}%` : `100${THIN}%`;
}

/** A share of 1 as percent for sentences: with decimals only below 1 % and above 99.5 %. */
export function percent(value: number): string {
  const isRounded = (value >= 0.01 && value < 0.995) || value >= 1;
  return isRounded ? `${whole(value * 100)}${THIN}%` : share(value);
}

/** A change of a share, in percentage points. */
export function points(change: number): string {
  return `${sign(change)}${Math.abs(change * 100).toFixed(1)}`;
}

/** A relative change: 0.25 is +25 %. */
export function signedPercent(change: number): string {
  const percent = Math.abs(change) * 100;
  return `${sign(change)}${percent < 10 ? percent.toFixed(1) : whole(percent)}${THIN}%`;
}

function sign(change: number): string {
  return change < 0 ? "−" : "+";
}

export function seconds(value: number): string {
  if (value < 1) return `${three(value * 1000)}${THIN}ms`;
  if (value < 120) return `${three(value)}${THIN}s`;
  const minutes = Math.floor(value / 60);
  if (minutes < 120) return `${minutes}${THIN}min ${Math.round(value % 60)}${THIN}s`;
  return `${Math.floor(minutes / 60)}${THIN}h ${minutes % 60}${THIN}min`;
}

/** 0, 1, 2, 5 -> "0–2, 5"; all of 8 (`of`) -> "all 8"; at most `most` ranges. */
export function ranges(numbers: number[], of?: number, most = 8): string {
  if (numbers.length === 0) return "none";
  if (of !== undefined && numbers.length === of) return of === 1 ? "the only one" : `all ${of}`;
  const parts: [number, number][] = [];
  for (const number of numbers) {
    const last = parts[parts.length - 1];
    if (last && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  const shown = parts.slice(0, most).map(([a, b]) => {
    if (a === b) return `${a}`;
    return b === a + 1 ? `${a}, ${b}` : `${a}–${b}`;
  });
  const rest = parts.slice(most).reduce((sum, [a, b]) => sum + b - a + 1, 0);
  return shown.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A list with commas, such as 0,4,8, which is broken between its numbers only. */
export function breakable(list: string): string {
  return list.replaceAll(",", ",\u200b");
}
