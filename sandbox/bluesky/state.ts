import { json, type FakeReply } from '../fake.ts'
import { newOAuthState, type OAuthState } from '../oauth-server.ts'

/** An account of the sandbox. */
export interface Person {
  readonly did: string
  readonly handle: string
  /** App passwords by name. The first sign-in sets the first one. */
  readonly passwords: Record<string, string>
  /** Set by tests. */
  followers?: number
}

/** A session, from a sign-in to its end. */
export interface FakeSession {
  readonly did: string
  /** The app password that it began with. */
  readonly password: string
}

export interface RefreshToken {
  readonly session: string
  readonly expiresAt: number
  /** The tokens that replaced it, and until when it returns them again. */
  next?: { readonly access: string; readonly refresh: string; readonly until: number }
}

export interface StoredBlob {
  readonly did: string
  readonly mimeType: string
  readonly size: number
}

export interface StoredRecord {
  readonly uri: string
  readonly cid: string
  readonly value: Readonly<Record<string, unknown>>
  readonly at: number
  /** Set by tests. */
  likes?: number
}

export interface VideoJob {
  readonly did: string
  readonly size: number
  readonly mimeType: string
  /** Sizes of the received parts, by number. */
  readonly parts: Record<string, { readonly size: number; readonly cid: string }>
  /** How often it is still being processed after the end of the upload; null before. */
  pending: number | null
  isTooLong: boolean
  blob?: unknown
}

/** The state of the fake: plain JSON. */
export interface State {
  readonly people: Record<string, Person>
  readonly sessions: Record<string, FakeSession>
  readonly access: Record<string, { readonly session: string; readonly expiresAt: number }>
  readonly refresh: Record<string, RefreshToken>
  /** By DID, CID and type. */
  readonly blobs: Record<string, StoredBlob>
  /** By URI. */
  readonly records: Record<string, StoredRecord>
  readonly jobs: Record<string, VideoJob>
  /** Times and costs of writes and sign-ins, by DID. */
  readonly spent: Record<string, { readonly at: number; readonly points: number }[]>
  readonly logins: Record<string, number[]>
  readonly oauth: OAuthState
  /** Callbacks by client. */
  readonly clients: Record<string, readonly string[]>
  /** Pushed requests of sign-ins, by their URI. */
  readonly pushed: Record<string, { readonly params: Readonly<Record<string, string>>; readonly until: number }>
  next: number
}

export function newState(): State {
  return {
    people: {},
    sessions: {},
    access: {},
    refresh: {},
    blobs: {},
    records: {},
    jobs: {},
    spent: {},
    logins: {},
    oauth: newOAuthState(),
    clients: {},
    pushed: {},
    next: 0,
  }
}

/** An error of XRPC. */
export function fault(status: number, error: string, message: string, headers: Record<string, string> = {}): FakeReply {
  return json(status, { error, message }, headers)
}

export function invalid(message: string): FakeReply {
  return fault(400, 'InvalidRequest', message)
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
