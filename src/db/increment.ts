/** A change that counts on from the value in the row. */
export class Increment {
  readonly by: number

  constructor(by: number) {
    this.by = by
  }
}

export const increment = (by = 1) => new Increment(by)
