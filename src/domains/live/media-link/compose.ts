import type { Memberships, Switches } from '../../../core/ports.ts'
import type { SealedBox } from '../../../core/sealed-box.ts'
import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { MediaDirectory } from '../media-nodes/index.ts'
import type { WorkspacesOf } from '../streams/index.ts'
import { DesiredStates } from './desired-states.ts'
import { RelayStatus } from './relay-status.ts'
import { WhipService, type AskWhip } from './whip.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly mediaLink: ReturnType<typeof composeMediaLink>['services']
  }
}

interface Others {
  readonly plans: PlanService
  readonly switches: Switches
  readonly memberships: Memberships
  readonly workspacesOf: WorkspacesOf
  readonly media: MediaDirectory
  /** Opens the keys of destinations. */
  readonly destinationKeys: SealedBox
  readonly askWhip: AskWhip
  /** Values of the Link header that help WHIP clients to connect. */
  readonly links: readonly string[]
}

/** Builds WHIP and the relay status, and what the media link of a node reads the desired state with. */
export function composeMediaLink(
  { clock, database: sql }: Foundation,
  { askWhip: ask, destinationKeys: keys, links, media, memberships, plans, switches, workspacesOf }: Others,
) {
  const desiredStates = new DesiredStates({ sql, clock, switches, plans, keys })
  return {
    desiredStates,
    services: {
      whip: new WhipService({ desired: desiredStates, media, ask, links }),
      relayStatus: new RelayStatus(sql, media, memberships, workspacesOf),
    },
  }
}
