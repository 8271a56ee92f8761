import type { Services } from './services.ts'
import type { Turn } from './turn.ts'

/** A turn that the service itself runs (on a media event or a timer), declared once so that any node can run it. */
export interface SystemTurn<I, R> {
  readonly name: string
  readonly run: (context: { readonly turn: Turn; readonly input: I } & Services) => Promise<R>
}

export function systemTurn<I, R = void>(declaration: SystemTurn<I, R>): SystemTurn<I, R> {
  return declaration
}

/** A system turn with its own types erased, for lists. */
// oxlint-disable-next-line typescript/no-explicit-any -- erased types, as in core/operation.ts
export type AnySystemTurn = SystemTurn<any, any>

/** Submits turns to the actor of a workspace. */
export interface TurnRunner {
  /** Runs a declared system turn and resolves after its commit. It takes priority over user traffic. */
  system<I, R>(workspaceId: string, turn: SystemTurn<I, R>, input: I): Promise<R>
}

declare module './services.ts' {
  interface Services {
    readonly turns: TurnRunner
  }
}
