interface Event {
  readonly at: number
  readonly order: number
  action: (() => void) | undefined
}

/** Virtual time. Runs events in the order of their times. After each event, waits for the promises that it has settled. */
export class Scheduler {
  #now = 0
  #order = 0
  #heap: Event[] = []
  events = 0

  get now(): number {
    return this.#now
  }

  /** Events that are still to come. */
  get waiting(): number {
    return this.#heap.filter(({ action }) => action !== undefined).length
  }

  /** @returns a function that cancels it */
  at(time: number, action: () => void): () => void {
    const event: Event = { at: Math.max(time, this.#now), order: (this.#order += 1), action }
    this.#push(event)
    return () => {
      event.action = undefined
    }
  }

  after(ms: number, action: () => void): () => void {
    return this.at(this.#now + ms, action)
  }

  /** Runs until the time, or until `done` returns true. */
  async run(until: number, done: () => boolean = () => false): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.at <= until; next = this.#heap[0]) {
      this.#pop()
      const { action } = next
      if (action === undefined) continue
      this.#now = next.at
      this.events += 1
      action()
      // Settles all promises that do not depend on later events.
      await new Promise((resolve) => void setImmediate(resolve))
      if (done()) return
    }
    this.#now = Math.max(this.#now, until)
  }

  #before(one: Event, other: Event): boolean {
    return one.at < other.at || (one.at === other.at && one.order < other.order)
  }

  #push(event: Event): void {
    const heap = this.#heap
    let index = heap.push(event) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#before(event, heap[parent] as Event)) break
      heap[index] = heap[parent] as Event
      index = parent
    }
    heap[index] = event
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop() as Event
    if (heap.length === 0) return
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && this.#before(heap[child + 1] as Event, heap[child] as Event)) child += 1
      if (!this.#before(heap[child] as Event, last)) break
      heap[index] = heap[child] as Event
      index = child
    }
    heap[index] = last
  }
}
