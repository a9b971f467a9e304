// SPDX-License-Identifier: Apache-2.0

/** A sentence with what stands between backticks as code. */
export function Sentence({ text }: { text: string }) {
  return (
    <>{text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>
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
