/** Something that a client shows: the `resourceKind` and `resourceId` of a notification. */
export interface ViewedResource {
  readonly kind: string
  readonly resourceId: string
}

/** A socket whose client reports what it shows. */
export interface ViewingSocket {
  readonly id: string
  readonly data: {
    readonly caller: { readonly userId: string }
    readonly isAway: boolean
    viewing?: readonly ViewedResource[]
  }
}

/** What users have on their screens. */
export interface Viewing {
  /** What a socket shows now. Nothing counts while its user is away. */
  show(socket: ViewingSocket, resources: readonly ViewedResource[]): void
  /** The user of a socket has come or gone. */
  update(socket: ViewingSocket): void
  /** The socket has closed. */
  leave(socket: ViewingSocket): void
}
