import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { DesiredStates } from './desired-states.ts'
import { RelayStatus } from './relay-status.ts'
import { WhipService } from './whip.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly mediaLink: ReturnType<typeof composeMediaLink>['services']['mediaLink']
  }
}

type Used = Pick<Services, 'destinations' | 'mediaNodes' | 'plans' | 'switches' | 'workspaces'>

/** Builds WHIP and the relay status, and what the media link of a node reads the desired state with. */
export function composeMediaLink(
  foundation: Foundation,
  { destinations, mediaNodes, plans, switches, workspaces }: Used,
) {
  const { database, media } = foundation
  const { directory } = mediaNodes
  const { memberships, service } = workspaces
  const desiredStates = new DesiredStates({ ...foundation, switches, plans, keys: destinations.keys })
  const mediaLink = {
    desiredStates,
    whip: new WhipService(desiredStates, directory, media),
    relayStatus: new RelayStatus(database, directory, memberships, (userId) => service.ofUser(userId)),
  }
  return { services: { mediaLink } }
}
