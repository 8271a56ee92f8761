import type { TallyLog } from '../../../core/tally-log.ts'
import type { PublishRequest } from '../../../../media/types.ts'
import type { DesiredState, DesiredStates } from './desired-states.ts'
import { backupPath } from '../streams/index.ts'
import type { MediaDirectory, Placement } from '../media-nodes/index.ts'

export interface AdmissionOptions {
  readonly nodeId: string
  readonly desired: DesiredStates
  readonly directory: MediaDirectory
  readonly placement: Placement
  readonly mostStreams: number
  readonly tally: TallyLog
}

type PublishAnswer = Awaited<ReturnType<DesiredStates['authorize']>>

/**
 * Whether a publisher with a good key is taken by this node of several. It is, wherever the stream was placed: the
 * stream moves here. Two things keep it away, and it is told where to go instead.
 */
export class Admission {
  readonly #options: AdmissionOptions

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** What the database says of a publisher, and then this node. @param ingests streams that this node takes in */
  async decide(request: PublishRequest, ingests: number): Promise<PublishAnswer> {
    const decision = await this.#options.desired.authorize(request)
    const reason = decision.allowed && decision.state && this.#refusal(decision.state, request.path, ingests)
    const answer = reason ? { allowed: false as const, reason } : decision
    if (!answer.allowed) this.#noteRefusal(request, answer.reason)
    return answer
  }

  #noteRefusal({ path, remoteAddress }: PublishRequest, reason: string): void {
    const fields = { path, remoteAddress }
    this.#options.tally.add({ level: 'info', message: 'a publisher was refused', reason, fields })
  }

  /** Why not, in words for the publisher; undefined when it may. */
  #refusal(state: DesiredState, path: string, ingests: number): string | undefined {
    const { directory, mostStreams, nodeId, placement } = this.#options
    const { ingestNode, mediaNode, playout, stream } = state
    const isElsewhere = ingestNode !== null && ingestNode !== nodeId && directory.isThere(ingestNode)
    // Here these could only take over by cutting the other one off.
    if (isElsewhere && path === backupPath(stream.path)) {
      return `the first publisher is at another server; send the backup to ${placement.urlOf(ingestNode)}`
    }
    if (isElsewhere && playout !== undefined) {
      return `files are broadcast from another server; send to ${placement.urlOf(ingestNode)}`
    }
    if (ingestNode === nodeId || ingests < mostStreams) return undefined
    const placed = mediaNode === null || mediaNode === nodeId ? undefined : directory.entry(mediaNode)
    const other = placed?.ok ? placed : placement.best(nodeId)
    return other?.ingestUrl === undefined
      ? 'this server takes no more streams; try again'
      : `this server takes no more streams; send to ${other.ingestUrl}`
  }
}
