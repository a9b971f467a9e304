// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { unpackPage } from "./data/unpack";
import { JobApp } from "./views/job/job-app";
import { App } from "./views/page/app";
import "./style.css";
import "./styles/figures.css";
import "./styles/overview.css";
import "./styles/cards.css";
import "./styles/machine.css";
import "./styles/sharing.css";
import "./styles/phases.css";
import "./styles/source-lines.css";
import "./styles/job.css";

async function start(): Promise<void> {
  const page = document.getElementById("page")!;
  const data = document.getElementById("report-data")!;
  try {
    const { job, report } = await unpackPage(data.textContent ?? "");
    data.remove();
    page.replaceChildren();
    render(job ? <JobApp job={job} /> : <App report={report!} />, page);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    page.textContent = `This report cannot be shown (${why}). Write it again: numascape report TRACE`;
  }
}

void start();
