import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, in descending order. Vitest knows the duration of a file only after it has run it, so a
 * new clone would start some of these last, while other processors are idle.
 */
const LONGEST = [
  'test/faults/publishing-matrix.test.ts',
  'test/flows/tour.test.ts',
  'test/flows/live.test.ts',
  'test/api/matrix.test.ts',
  'test/api/extremes.test.ts',
  'test/flows/start.test.ts',
  'test/flows/operations.test.ts',
  'test/faults/publishing-kill.test.ts',
  'test/faults/delivery-kill.test.ts',
  'test/flows/week.test.ts',
  'test/faults/jobs.test.ts',
  'src/platforms/agreement.test.ts',
  'test/flows/rolling-restart.test.ts',
  'test/faults/chat-soak.test.ts',
  'test/faults/social-refresh.test.ts',
  'test/api/existence.test.ts',
  'src/jobs/jobs.test.ts',
  'test/media/preview.test.ts',
  'test/media/live.test.ts',
  'media/slate/slate.test.ts',
  'test/media/whip-browser.test.ts',
]

/** These flows wait for streams, but also compute. They run beside the tests of the media process. */
const BESIDE_MEDIA = ['test/flows/tour.test.ts', 'test/flows/live.test.ts']

/** Runs the longest files first. */
export class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Vitest keeps the files of a project together. Those of the projects with `isolate: false` share processes, which end when
    // another project follows.
    const blocks = Map.groupBy(await super.sort(files), ({ project: { config, name } }) =>
      config.isolate ? `isolated ${config.sequence.groupOrder}` : name,
    )
    const sorted = [...blocks.values()].flatMap((block) => block.toSorted((a, b) => rankOf(a) - rankOf(b)))
    const isAhead = (file: TestSpecification) => BESIDE_MEDIA.includes(pathOf(file))
    return sorted.toSorted(
      (a, b) => orderOf(a) - orderOf(b) || Number(isAhead(b)) - Number(isAhead(a)) || partOf(a) - partOf(b),
    )
  }
}

const pathOf = ({ moduleId, project }: TestSpecification) => relative(project.config.root, moduleId)
const orderOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder
/** Files that share processes come before those with a process each. */
const partOf = ({ project }: TestSpecification) => (project.config.isolate ? 1 : 0)

function rankOf(file: TestSpecification): number {
  const index = LONGEST.indexOf(pathOf(file))
  return index === -1 ? LONGEST.length : index
}
