import type { Reply } from './links/frames.ts'

type Answer = (reply: Reply) => void

/**
 * Operations of other nodes that are in progress here. If one is sent again because a link broke, it does not start a
 * second time, and both senders get the same reply. Finished operations are not kept here, because the host stores their
 * outcomes in the database.
 */
export class UnderWay {
  readonly #answers = new Map<string, Answer[]>()

  get size(): number {
    return this.#answers.size
  }

  /** @returns false when the operation is not in progress; otherwise `answer` gets the reply to the first attempt */
  join(operationId: string, answer: Answer): boolean {
    const answers = this.#answers.get(operationId)
    answers?.push(answer)
    return answers !== undefined
  }

  begin(operationId: string, answer: Answer): void {
    this.#answers.set(operationId, [answer])
  }

  /** Replies to all senders. */
  end(operationId: string, reply: Reply): void {
    const answers = this.#answers.get(operationId) ?? []
    this.#answers.delete(operationId)
    for (const answer of answers) answer(reply)
  }
}
