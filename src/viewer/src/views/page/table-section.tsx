// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import type { CsvTable } from "../../model/csv";
import { SaveMenu } from "./save-menu";
import { Wide } from "../elements/wide";

interface Props {
  id: string;
  title: string;
  /** The name of the table for screen readers, if it is not the title. */
  label?: string;
  savedAs?: string;
  csv: () => CsvTable;
  /** A class of the element that scrolls, besides `scroll`. */
  scrollClass?: string;
  table: ComponentChildren;
  /** Elements below the table. */
  children?: ComponentChildren;
}

/** A section with a table that can be scrolled, and saved as CSV. */
export function TableSection(props: Props) {
  const { id, title, label = title, savedAs = title, csv, scrollClass, table, children } = props;
  return (
    <section aria-labelledby={id}>
      <div class="heading">
        <h2 id={id}>{title}</h2>
        <SaveMenu title={savedAs} table={csv} picture={false} />
      </div>
      <Wide class={scrollClass ? `scroll ${scrollClass}` : "scroll"} label={label}>
        {table}
      </Wide>
      {children}
    </section>
  );
}
