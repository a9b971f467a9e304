// SPDX-License-Identifier: Apache-2.0
// node: compiled code, the collector, a worker thread, WebAssembly, files and a child.
"use strict";
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const { execFile } = require("child_process");
const { promisify } = require("util");
const fs = require("fs/promises");
const zlib = require("zlib");

function mix(count) {
  let x = 123456789;
  for (let i = 0; i < count; i++) x = (Math.imul(x, 1103515245) + 12345) >>> 0;
  return x;
}

function objects() {
  let list = [];
  for (let i = 0; i < 3000; i++) list.push({ key: `k${i % 101}`, value: [i, i + 1] });
  return list.filter((o) => o.key === "k7").reduce((sum, o) => sum + o.value[1], 0);
}

// (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add)
const ADD = Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100,
  100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11,
]);

function inWorker(count) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: count });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

async function work() {
  const assembly = new WebAssembly.Instance(new WebAssembly.Module(ADD));
  const [there, here] = await Promise.all([inWorker(20000), mix(30000)]);
  const text = await fs.readFile(__filename);
  const packed = await promisify(zlib.gzip)(text);
  const unpacked = await promisify(zlib.gunzip)(packed);
  const child = await promisify(execFile)("/bin/echo", ["child"]);
  if (!unpacked.equals(text)) throw new Error("the text has changed");
  return [there, here, objects(), assembly.exports.add(40, 2), child.stdout.trim()].join(" ");
}

async function main() {
  const result = await work();
  if (process.argv.length > 2) {
    let told = false;
    process.stdin.once("data", () => (told = true));
    do {
      console.log("round");
      if ((await work()) !== result) throw new Error("another result");
    } while (!told);
  }
  console.log(result);
  process.exit(7);
}

if (isMainThread) main();
else parentPort.postMessage(mix(workerData));
