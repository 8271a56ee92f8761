import type { Registry } from './core/operation.ts'
import type { AnySystemTurn } from './core/system-turn.ts'
import * as assets from './assets/operations.ts'
import { assetTurns } from './assets/turns.ts'
import * as auth from './auth/operations.ts'
import * as chat from './chat/operations.ts'
import * as health from './health/operations.ts'
import * as plans from './plans/operations.ts'
import * as queue from './jobs/operations.ts'
import * as services from './services/operations.ts'
import * as streams from './streams/operations.ts'
import * as broadcasts from './streams/files/operations.ts'
import { recordingTurns } from './streams/recording/turns.ts'
import { broadcastTurns } from './streams/files/turns.ts'
import { streamTurns } from './streams/turns.ts'
import * as team from './team/operations.ts'
import * as uploads from './uploads/operations.ts'
import * as users from './users/operations.ts'
import * as workspaces from './workspaces/operations.ts'

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
