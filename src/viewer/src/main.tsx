// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { unpackPage } from "./data/unpack";
import type { Content } from "./data/unpack";
import { BalanceApp } from "./views/balance/balance-app";
import { ComparisonApp } from "./views/comparison/comparison-app";
import { ExperimentApp } from "./views/experiment/experiment-app";
import { JobApp } from "./views/job/job-app";
import { MachineApp } from "./views/machine-page/machine-app";
import { ReportApp } from "./views/report/report-app";
import { PredictionApp } from "./views/prediction/prediction-app";
import { ProcessApp } from "./views/process/process-app";
import "./styles/page.css";
import "./styles/run-header.css";
import "./styles/card.css";
import "./styles/tables.css";
import "./styles/structure.css";
import "./styles/figure-toolbar.css";
import "./styles/figure-grid.css";
import "./styles/save-menu.css";
import "./styles/read-write.css";
import "./styles/terms.css";
import "./styles/figures.css";
import "./styles/overview.css";
import "./styles/cards.css";
import "./styles/machine.css";
import "./styles/sharing.css";
import "./styles/phases.css";
import "./styles/source-lines.css";
import "./styles/call-paths.css";
import "./styles/time.css";
import "./styles/job.css";
import "./styles/comparison.css";
import "./styles/prediction.css";
import "./styles/machine-page.css";
import "./styles/balance.css";
import "./styles/experiment.css";
import "./styles/process.css";
import "./styles/narrow.css";

async function start(): Promise<void> {
  const page = document.getElementById("page")!;
  const data = document.getElementById("report-data")!;
  try {
    const content = await unpackPage(data.textContent ?? "", textOf);
    data.remove();
    page.replaceChildren();
    render(<Shown content={content} />, page);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    page.textContent = `This report cannot be shown (${why}). Write it again: numascape report TRACE`;
  }
}

function textOf(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

function Shown({ content }: { content: Content }) {
  if ("job" in content) return <JobApp job={content.job} />;
  if ("comparison" in content) return <ComparisonApp comparison={content.comparison} />;
  if ("prediction" in content) return <PredictionApp prediction={content.prediction} />;
  if ("machine" in content) return <MachineApp machine={content.machine} />;
  if ("balance" in content) return <BalanceApp balance={content.balance} />;
  if ("experiment" in content) return <ExperimentApp experiment={content.experiment} />;
  if ("processes" in content) return <ProcessApp {...content.processes} />;
  return <ReportApp report={content.report} />;
}

void start();
