import { systemTurn } from '../../../core/system-turn.ts'
import type { RemoteClaim, RemoteClaimInput, RemoteSettleInput } from './edits/remote-changes.ts'

/** Takes a change of what is published for an attempt. */
export const claimRemoteChange = systemTurn<RemoteClaimInput, RemoteClaim>({
  name: 'posts.claim-remote',
  run: ({ input, remote, turn }) => remote.changes.claim(turn, input),
})

/** Records the outcome of an attempt to change what is published. */
export const settleRemoteChange = systemTurn<RemoteSettleInput>({
  name: 'posts.settle-remote',
  run: ({ input, remote, turn }) => remote.changes.settle(turn, input),
})
