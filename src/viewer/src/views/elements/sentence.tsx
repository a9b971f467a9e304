// SPDX-License-Identifier: Apache-2.0
import { keepPercentsTogether } from "../../model/format";

// Longer code must be divided between lines on a telephone.
const SHORT = 30;

/** A sentence with what stands between backticks as code. A line never ends before a "%". */
export function Sentence({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((part, i) => (i % 2 === 1 ? code(part, i) : keepPercentsTogether(part)))}
    </>
  );
}

function code(part: string, key: number) {
  return (
    <code key={key} className={part.length <= SHORT ? "short" : undefined}>
      {part}
    </code>
  );
}

/** Each sentence in a paragraph of its own. */
export function Sentences({ texts }: { texts: readonly string[] }) {
  return (
    <>
      {texts.map((text) => (
        <p key={text}>
          <Sentence text={text} />
        </p>
      ))}
    </>
  );
}
