import type { TallyLog } from '../../../tools/tally-log.ts'
import type { PublishRequest } from '../../../../media/types.ts'
import type { DesiredState, DesiredStates } from './desired-states.ts'
import { backupPath } from '../streams/index.ts'
import type { MediaDirectory, Placement } from '../media-nodes/index.ts'

interface Dependencies {
  readonly nodeId: string
  readonly desired: DesiredStates
  readonly directory: MediaDirectory
  readonly placement: Placement
  readonly mostStreams: number
  readonly tally: TallyLog
}

type PublishAnswer = Awaited<ReturnType<DesiredStates['authorize']>>

/**
 * Decides whether this node accepts a publisher with a valid key. It does, wherever the stream was placed: the stream
 * moves to this node. The exceptions are a full node, and a publisher or playout on another node.
 */
export class Admission {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** The decision by the database, then by this node. @param ingests number of streams with a publisher on this node */
  async decide(request: PublishRequest, ingests: number): Promise<PublishAnswer> {
    const decision = await this.#dependencies.desired.authorize(request)
    const reason = decision.allowed && decision.state && this.#refusal(decision.state, request.path, ingests)
    const answer = reason ? { allowed: false as const, reason } : decision
    if (!answer.allowed) this.#noteRefusal(request, answer.reason)
    return answer
  }

  #noteRefusal({ path, remoteAddress }: PublishRequest, reason: string): void {
    const fields = { path, remoteAddress }
    this.#dependencies.tally.add({ level: 'info', message: 'a publisher was refused', reason, fields })
  }

  /** The reason for a refusal, for the publisher. Undefined when it is accepted. */
  #refusal(state: DesiredState, path: string, ingests: number): string | undefined {
    const { directory, mostStreams, nodeId, placement } = this.#dependencies
    const { ingestNode, mediaNode, playout, stream } = state
    const isElsewhere = ingestNode !== null && ingestNode !== nodeId && directory.isThere(ingestNode)
    // On this node the backup could take over only by disconnecting the primary publisher.
    if (isElsewhere && path === backupPath(stream.path)) {
      return `the primary publisher is on another server; send the backup to ${placement.urlOf(ingestNode)}`
    }
    if (isElsewhere && playout !== undefined) {
      return `another server plays files on this stream; send to ${placement.urlOf(ingestNode)}`
    }
    if (ingestNode === nodeId || ingests < mostStreams) return undefined
    const placed = mediaNode === null || mediaNode === nodeId ? undefined : directory.entry(mediaNode)
    const other = placed?.ok ? placed : placement.best(nodeId)
    return other?.ingestUrl === undefined
      ? 'this server accepts no more streams; try again later'
      : `this server accepts no more streams; send to ${other.ingestUrl}`
  }
}
