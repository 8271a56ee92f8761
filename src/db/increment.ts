/** A change that adds to the value in the row. */
export class Increment {
  readonly by: number

  constructor(by: number) {
    this.by = by
  }
}

export const increment = (by = 1) => new Increment(by)
