// SPDX-License-Identifier: Apache-2.0
import type { Policy, PredictedStructure, Prediction } from "../../data/prediction";
import type { Theme } from "../../model/page-state";
import * as show from "../../model/format";
import { nodeParts, pagesTable } from "../../model/policies";
import { NodeBar } from "../elements/node-bar";
import { TableSection } from "../page/table-section";

interface Props {
  prediction: Prediction;
  policy: Policy;
  reference: Policy;
  theme: Theme;
}

/** The nodes of the pages of each structure, under the chosen policy and the first one. */
export function StructureNodes({ prediction, policy, reference, theme }: Props) {
  const { structures } = prediction;
  if (structures.length === 0) return null;
  const shown = policy === reference ? [policy] : [reference, policy];
  return (
    <TableSection
      id="pages-by-node"
      title="Pages by node"
      csv={() => pagesTable({ ...prediction, policies: shown })}
      table={
        <table class="job-table">
          <thead>
            <tr>
              <th scope="col">Structure</th>
              <th scope="col" class="number">
                Share
              </th>
              <th scope="col" class="number">
                Pages
              </th>
              {shown.map(({ label }) => (
                <th key={label} scope="col" class="wide">
                  <bdi>{label}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {structures.map((structure, i) => (
              <tr key={i}>
                <Name structure={structure} />
                <td class="number">{show.share(structure.share)}</td>
                <td class="number">{show.count(structure.pages)}</td>
                {shown.map((one) => (
                  <td key={one.label}>
                    <Nodes policy={one} structure={i} theme={theme} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      }
    >
      <p class="how">The length of a part is the share of the structure's pages on that node.</p>
    </TableSection>
  );
}

function Name({ structure: { name, kind, file, line } }: { structure: PredictedStructure }) {
  return (
    <th scope="row">
      <bdi class="name">{name}</bdi>{" "}
      <span class="origin">
        {kind}
        {file && ` · ${file}${line ? `:${line}` : ""}`}
      </span>
    </th>
  );
}

interface NodesProps {
  policy: Policy;
  structure: number;
  theme: Theme;
}

function Nodes({ policy, structure, theme }: NodesProps) {
  if (policy.copied.includes(structure)) return <>a copy on each node</>;
  const parts = nodeParts(policy, structure);
  if (parts.length === 0) return <>?</>;
  const named = parts.map((part) => ({ ...part, name: `node ${policy.nodes[part.node]}` }));
  return <NodeBar parts={named} nodes={policy.nodes.length} theme={theme} />;
}
