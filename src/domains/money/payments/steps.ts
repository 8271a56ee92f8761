/** The steps of a payment between which a process can be killed. */
export type Step =
  | 'intent.written'
  | 'gateway.created'
  | 'reference.written'
  | 'gateway.confirmed'
  | 'settle'
  | 'settle.commit'
  | 'settled'
  | 'refund.written'
  | 'gateway.refunded'
  | 'event.written'

/** Lets tests stop a request at a step, as a killed process would. */
export class Steps {
  /** Called at each step. What it throws ends the request there. */
  onStep: ((step: Step) => void | Promise<void>) | undefined

  reach(step: Step): void | Promise<void> {
    return this.onStep?.(step)
  }
}
