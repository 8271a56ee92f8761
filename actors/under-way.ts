import type { Reply } from './links/frames.ts'

type Answer = (reply: Reply) => void

/**
 * Operations of other nodes that are under way here. One that is sent again meanwhile, because the link broke, is not
 * begun a second time: both get the one answer. What has ended is not kept: the host remembers it, in the database, and
 * a second memory in front of it would hold thousands of replies that nobody asks for.
 */
export class UnderWay {
  readonly #answers = new Map<string, Answer[]>()

  get size(): number {
    return this.#answers.size
  }

  /** @returns false when the operation is not under way; else `answer` gets what the first attempt gets */
  join(operationId: string, answer: Answer): boolean {
    const answers = this.#answers.get(operationId)
    answers?.push(answer)
    return answers !== undefined
  }

  begin(operationId: string, answer: Answer): void {
    this.#answers.set(operationId, [answer])
  }

  /** Answers everybody who waits. */
  end(operationId: string, reply: Reply): void {
    const answers = this.#answers.get(operationId) ?? []
    this.#answers.delete(operationId)
    for (const answer of answers) answer(reply)
  }
}
