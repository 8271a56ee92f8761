import type { Services } from './services.ts'
import type { Turn } from './turn.ts'

/** A turn that the service itself asks for (a media event, a timer), declared once so that any node can run it. */
export interface SystemTurn<I, R> {
  readonly name: string
  readonly run: (context: { readonly turn: Turn; readonly input: I } & Services) => Promise<R>
}

export function systemTurn<I, R = void>(declaration: SystemTurn<I, R>): SystemTurn<I, R> {
  return declaration
}

/** A system turn, its own types set aside, for lists of them. */
// oxlint-disable-next-line typescript/no-explicit-any -- erased types, as in core/operation.ts
export type AnySystemTurn = SystemTurn<any, any>

/** Asks a workspace's actor for turns. */
export interface TurnRunner {
  /** Runs a declared system turn; resolves after its commit. Goes before user traffic. */
  system<I, R>(workspaceId: string, turn: SystemTurn<I, R>, input: I): Promise<R>
}

declare module './services.ts' {
  interface Services {
    readonly turns: TurnRunner
  }
}
