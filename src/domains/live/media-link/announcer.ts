import type { MediaEvent } from '../../../../media/types.ts'
import type { Logger } from '../../../core/log.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import { announceInput, announceSlate, announceWebrtcLost, reportDiagnosis } from '../streams/index.ts'

/** Announces events of a stream that are not stored: problems, slate, encoder switches, lost clients. */
export class Announcer {
  readonly #turns: TurnRunner
  readonly #log: Logger

  constructor(turns: TurnRunner, log: Logger) {
    this.#turns = turns
    this.#log = log
  }

  /** @returns whether the event was one of these */
  announce(workspaceId: string, event: MediaEvent): boolean {
    const { streamId } = event
    switch (event.type) {
      case 'warnings.changed': {
        const { cleared, raised } = event
        this.#try(this.#turns.system(workspaceId, reportDiagnosis, { streamId, raised, cleared }), 'a diagnosis')
        return true
      }
      case 'slate.changed':
        this.#try(this.#turns.system(workspaceId, announceSlate, { streamId, shown: event.shown }), 'a slate')
        return true
      case 'input.changed': {
        const { type: _type, ...change } = event
        this.#try(this.#turns.system(workspaceId, announceInput, change), 'a change of encoders')
        return true
      }
      case 'webrtc.lost': {
        const { type: _type, ...lost } = event
        this.#try(this.#turns.system(workspaceId, announceWebrtcLost, lost), 'a loss of WebRTC clients')
        return true
      }
      default:
        return false
    }
  }

  #try(work: Promise<unknown>, what: string): void {
    work.catch((error: unknown) => this.#log.warn({ error }, `${what} could not be announced`))
  }
}
