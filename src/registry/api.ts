import type { Registry } from '../core/operation.ts'
import type { AnySystemTurn } from '../core/system-turn.ts'
import * as assets from '../domains/media/assets/operations.ts'
import { assetTurns } from '../domains/media/assets/turns.ts'
import * as auth from '../domains/identity/auth/operations.ts'
import * as chat from '../domains/talk/chat/operations.ts'
import * as health from '../domains/system/health/operations.ts'
import * as plans from '../domains/money/plans/operations.ts'
import * as queue from '../jobs/operations.ts'
import * as services from '../domains/system/switches/operations.ts'
import * as streams from '../domains/live/streams/operations.ts'
import * as broadcasts from '../domains/live/playout/operations.ts'
import { recordingTurns } from '../domains/live/recording/turns.ts'
import { broadcastTurns } from '../domains/live/playout/turns.ts'
import { streamTurns } from '../domains/live/streams/turns.ts'
import * as team from '../domains/workspace/team/operations.ts'
import * as uploads from '../domains/media/uploads/operations.ts'
import * as users from '../domains/identity/users/operations.ts'
import * as workspaces from '../domains/workspace/workspaces/operations.ts'

/** Every operation of the service, by domain. A domain is also what can be switched on and off. */
export const api = {
  assets,
  auth,
  chat,
  health,
  plans,
  queue,
  services,
  streams: { ...streams, ...broadcasts },
  team,
  uploads,
  users,
  workspaces,
} satisfies Registry

/** Turns that the service asks for by itself. */
export const systemTurns: readonly AnySystemTurn[] = [
  ...assetTurns,
  ...streamTurns,
  ...broadcastTurns,
  ...recordingTurns,
]

export type Api = typeof api
