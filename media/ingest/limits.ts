import { DEFAULT_DOCTOR_LIMITS, type DoctorLimits } from '../doctor/stream-doctor.ts'
import { DEFAULT_CONTEST_LIMITS, type ContestLimits } from './key-contests.ts'

/** What ingest grants a peer. Times are milliseconds. */
export interface IngestLimits {
  /** From accept to the end of the RTMP handshake. */
  handshakeTimeoutMs: number
  /** From accept to Publish.Start or a refusal. */
  admissionTimeoutMs: number
  /** How long {@link MediaNodeOptions.authorizePublish} may take. */
  authorizeTimeoutMs: number
  /** Silence after which a connection is dropped; a publisher that sends bytes but no media gets twice as long. */
  idleTimeoutMs: number
  /** How long a refused peer may take to read why, before its socket is destroyed. */
  lingerMs: number
  /**
   * Bytes that a peer may send, and that are held for it, before it is admitted. Not less than one read of a socket
   * (60 KiB, `shared-reads.ts`): an encoder may send its first pictures ahead of the answer.
   */
  maxUnadmittedBytes: number
  maxMessageBytes: number
  maxChunkStreams: number
  /** Memory held for one publisher's unfinished messages. */
  maxInFlightBytes: number
  /** Replies that a peer has not read; more means that it never will. */
  maxUnsentBytes: number
  maxConnections: number
  /** Connections that are not publishing yet, of all addresses. */
  maxUnadmitted: number
  /** The same of one address (a /64 network with IPv6). */
  maxUnadmittedPerAddress: number
  /** New connections of one address: sustained rate a second; twice as many in a burst. */
  maxConnectionRatePerAddress: number
  /** When encoders that cut each other off are taken to fight over a key. */
  contest: ContestLimits
  /** When a finding about a publisher's media is told, and when it is taken back. */
  doctor: DoctorLimits
}

/** Defaults: spec values for sizes and times; the caps are far above what one studio with ten encoders needs. */
export const DEFAULT_INGEST_LIMITS: IngestLimits = {
  handshakeTimeoutMs: 5_000,
  admissionTimeoutMs: 15_000,
  authorizeTimeoutMs: 5_000,
  idleTimeoutMs: 15_000,
  lingerMs: 500,
  maxUnadmittedBytes: 64_000,
  maxMessageBytes: 8 * 1024 * 1024,
  maxChunkStreams: 16,
  maxInFlightBytes: 16 * 1024 * 1024,
  maxUnsentBytes: 65_536,
  maxConnections: 4_096,
  maxUnadmitted: 1_024,
  maxUnadmittedPerAddress: 64,
  maxConnectionRatePerAddress: 64,
  contest: DEFAULT_CONTEST_LIMITS,
  doctor: DEFAULT_DOCTOR_LIMITS,
}
