import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, the first ones first. Vitest knows how long a file takes only after it has run it, and a new
 * clone would start some of these last, with idle processors beside them.
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

/** Runs the longest files first, and flows, which compute, beside files that wait for streams. */
export class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const index = LONGEST.indexOf(relative(project.config.root, moduleId))
      return index === -1 ? LONGEST.length : index
    }
    const groups = new Map<number, TestSpecification[]>()
    for (const file of await super.sort(files)) {
      const order = file.project.config.sequence.groupOrder
      groups.set(order, [...(groups.get(order) ?? []), file])
    }
    return [...groups.values()].flatMap((group) => {
      const projects = Map.groupBy(group, ({ project }) => (project.name === 'live' ? 'media' : project.name))
      const queues = [...projects.values()].map((queue) => queue.toSorted((a, b) => rank(a) - rank(b)))
      // Files of these projects share a process, which ends when another project follows.
      if (group.some(({ project }) => !project.config.isolate)) return queues.flat()
      const longest = Math.max(...queues.map(({ length }) => length))
      return Array.from({ length: longest }, (_, index) => queues.flatMap((queue) => queue[index] ?? [])).flat()
    })
  }
}
