// SPDX-License-Identifier: Apache-2.0
import { RESOLUTION, textOfSvg } from "./svg-of-element";

/** The SVG as a PNG of twice its size in pixels. */
export async function pngOfSvg(svg: SVGSVGElement): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([textOfSvg(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Number(svg.getAttribute("width")) * RESOLUTION;
    canvas.height = Number(svg.getAttribute("height")) * RESOLUTION;
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) =>
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("no picture"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}
