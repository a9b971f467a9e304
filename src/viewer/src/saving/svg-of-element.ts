// SPDX-License-Identifier: Apache-2.0
// A part of the page as an SVG: its text as text, boxes as rectangles, canvases as images.
//
// It saves what is visible, so no figure needs a second way of drawing. Elements of class
// "not-saved" (buttons, hints) are left out.

import { pictureOf } from "./drawings";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 16;
const FONT = "Inter, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
/** Device pixels of the images per CSS pixel. */
export const RESOLUTION = 2;
/** The maximum length of one text in the page, because names may be of any length. */
const LONGEST_TEXT = 2000;

export interface Caption {
  title: string;
  subtitle: string;
}

interface Place {
  target: Element;
  left: number;
  top: number;
}

export function svgOfElement(element: HTMLElement, caption: Caption): SVGSVGElement {
  const box = element.getBoundingClientRect();
  const width = Math.ceil(box.width + 2 * MARGIN);
  const head = 52;
  const height = Math.ceil(box.height + head + MARGIN);
  const svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  const style = getComputedStyle(element);
  svg.append(make("rect", { width, height, fill: backgroundOf(element) }));
  const line = (text: string, y: number, size: number, weight: number, opacity: number) => {
    const attributes = { x: MARGIN, y, fill: style.color, opacity };
    const font = { "font-family": FONT, "font-size": size, "font-weight": weight };
    const most = Math.floor((width - 2 * MARGIN) / (size * 0.55));
    const node = make("text", { ...attributes, ...font });
    node.textContent = printable(text.length > most ? `${text.slice(0, most - 1)}…` : text);
    svg.append(node);
  };
  line(caption.title, 24, 16, 650, 1);
  line(caption.subtitle, 42, 12, 400, 0.75);
  const place = { target: svg, left: box.left - MARGIN, top: box.top - head };
  element.childNodes.forEach((child) => copy(child, place));
  return svg as SVGSVGElement;
}

export function textOfSvg(svg: SVGSVGElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

function make(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, typeof value === "number" ? String(tenth(value)) : value);
  }
  return element;
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10;
}

function copy(node: Node, place: Place): void {
  if (node instanceof Text) copyText(node, place);
  else if (node instanceof HTMLElement || node instanceof SVGSVGElement) copyElement(node, place);
}

function copyElement(element: HTMLElement | SVGSVGElement, place: Place): void {
  if (element.classList.contains("not-saved")) return;
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const hidden = style.display === "none" || style.visibility === "hidden";
  // The content of a closed <details> has a size although it is invisible.
  if (element.matches("details:not([open])")) return;
  if (hidden || Number(style.opacity) === 0 || element.matches("input, select, dialog, option"))
    return;
  if (element instanceof SVGSVGElement) {
    place.target.append(copySvg(element, box, place));
    return;
  }
  const { left, top } = place;
  const at = { x: box.left - left, y: box.top - top, width: box.width, height: box.height };
  copyBox(style, at, place.target);
  if (element instanceof HTMLCanvasElement) {
    const image = make("image", { ...at, preserveAspectRatio: "none" });
    image.setAttribute("href", pictureOf(element, RESOLUTION));
    place.target.append(image);
    return;
  }
  const cut = style.overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1;
  const cutBelow = style.overflowY !== "visible" && element.scrollHeight > element.clientHeight + 1;
  let target = place.target;
  if (cut || cutBelow) {
    const { x, y, width, height } = at;
    target = make("svg", { ...at, viewBox: [x, y, width, height].map(tenth).join(" ") });
    place.target.append(target);
  }
  element.childNodes.forEach((child) => copy(child, { ...place, target }));
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Background, gradient, border and outline; borders of one side become lines. */
function copyBox(style: CSSStyleDeclaration, at: Box, target: Element): void {
  if (at.width === 0 || at.height === 0) return;
  const fill = gradientOf(style, target) ?? style.backgroundColor;
  if (!transparent(fill)) {
    const rx = Math.min(parseFloat(style.borderRadius) || 0, at.height / 2);
    target.append(make("rect", { ...at, rx, fill, opacity: style.opacity }));
  }
  if (style.outlineStyle === "solid" && !transparent(style.outlineColor)) {
    const stroke = { fill: "none", stroke: style.outlineColor };
    target.append(make("rect", { ...at, ...stroke, "stroke-width": style.outlineWidth }));
  }
  const { x, y, width, height } = at;
  const sides = [
    ["Top", x, y, x + width, y],
    ["Right", x + width, y, x + width, y + height],
    ["Bottom", x, y + height, x + width, y + height],
    ["Left", x, y, x, y + height],
  ] as const;
  for (const [side, x1, y1, x2, y2] of sides) {
    const thickness = parseFloat(style[`border${side}Width`]);
    const stroke = style[`border${side}Color`];
    const drawn = style[`border${side}Style`] !== "none" && thickness > 0 && !transparent(stroke);
    if (!drawn) continue;
    const dashes = style[`border${side}Style`] === "solid" ? {} : { "stroke-dasharray": "2 2" };
    const line = { x1, y1, x2, y2, stroke, "stroke-width": thickness, opacity: style.opacity };
    target.append(make("line", { ...line, ...dashes }));
  }
}

function transparent(colour: string): boolean {
  return colour === "" || colour === "transparent" || /^rgba\(.*,\s*0\)$/.test(colour);
}

let gradients = 0;

/** A horizontal linear gradient with even stops, as legends have; undefined for anything else. */
function gradientOf(style: CSSStyleDeclaration, target: Element): string | undefined {
  const inside = /^linear-gradient\(90deg, (.*)\)$/.exec(style.backgroundImage)?.[1];
  const colours = inside?.match(/rgba?\([^)]*\)|#[0-9a-f]+/gi);
  if (!colours) return undefined;
  const id = `gradient-${++gradients}`;
  const gradient = make("linearGradient", { id });
  colours.forEach((colour, i) => {
    const offset = `${(100 * i) / Math.max(1, colours.length - 1)}%`;
    gradient.append(make("stop", { offset, "stop-color": colour }));
  });
  target.append(gradient);
  return `url(#${id})`;
}

const KEPT_STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
];

/** Drawings that are SVG in the page keep their marks; their styles are written into them. */
function copySvg(element: SVGSVGElement, box: DOMRect, { left, top }: Place): SVGElement {
  const clone = element.cloneNode(true) as SVGSVGElement;
  const originals = [element, ...element.querySelectorAll("*")];
  [clone, ...clone.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(originals[i]!);
    for (const name of KEPT_STYLES) node.setAttribute(name, style.getPropertyValue(name));
    node.removeAttribute("class");
    node.removeAttribute("style");
    node.removeAttribute("tabindex");
  });
  clone.querySelectorAll("text, tspan, title").forEach((node) => {
    for (const child of node.childNodes) {
      if (child instanceof Text) child.data = printable(child.data);
    }
  });
  if (!clone.hasAttribute("viewBox")) {
    clone.setAttribute("viewBox", `0 0 ${tenth(box.width)} ${tenth(box.height)}`);
  }
  const at = { x: box.left - left, y: box.top - top, width: box.width, height: box.height };
  for (const [name, value] of Object.entries(at)) clone.setAttribute(name, String(tenth(value)));
  return clone;
}

/** A text as one line or several, where the browser broke it. */
function copyText(node: Text, { target, left, top }: Place): void {
  const parent = node.parentElement;
  if (!parent || !node.data.trim()) return;
  const style = getComputedStyle(parent);
  for (const { text, box } of linesOf(node)) {
    const line = make("text", {
      x: box.left - left,
      y: box.top - top + baseline(style, box.height),
      fill: style.color,
      "font-family": style.fontFamily,
      "font-size": style.fontSize,
      "font-weight": style.fontWeight,
    });
    line.textContent = printable(text);
    target.append(line);
  }
}

function linesOf(node: Text): { text: string; box: DOMRect }[] {
  const range = document.createRange();
  range.setStart(node, node.data.search(/\S/));
  range.setEnd(node, node.data.trimEnd().length);
  if (range.getClientRects().length <= 1) {
    return [{ text: tidy(node.data.slice(0, LONGEST_TEXT)), box: range.getBoundingClientRect() }];
  }
  const lines: { text: string; box: DOMRect }[] = [];
  for (const word of node.data.slice(0, LONGEST_TEXT).matchAll(/\S{1,40}/g)) {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const box = range.getClientRects()[0];
    if (!box) continue;
    const last = lines[lines.length - 1];
    if (last && Math.abs(last.box.top - box.top) < 2) last.text += ` ${word[0]}`;
    else lines.push({ text: word[0], box });
  }
  return lines;
}

function tidy(text: string): string {
  return text.replace(/[ \t\r\n]+/g, " ").trim();
}

let ruler: CanvasRenderingContext2D | null = null;

/** The distance from the top of a line's box to its baseline. */
function baseline({ fontWeight, fontSize, fontFamily }: CSSStyleDeclaration, height: number) {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return height * 0.8;
  ruler.font = `${fontWeight} ${fontSize} ${fontFamily}`;
  const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = ruler.measureText("x");
  return (height - up - down) / 2 + up;
}

/** The text without what XML 1.0 cannot hold: control characters, halves of surrogate pairs. */
export function printable(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    "\ufffd",
  );
}

function backgroundOf(element: Element | null): string {
  for (let at = element; at; at = at.parentElement) {
    const { backgroundColor } = getComputedStyle(at);
    if (!transparent(backgroundColor)) return backgroundColor;
  }
  return "white";
}
