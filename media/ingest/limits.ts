import { DEFAULT_DOCTOR_LIMITS, type DoctorLimits } from '../doctor/stream-doctor.ts'
import { DEFAULT_CONTEST_LIMITS, type ContestLimits } from './key-contests.ts'

/** Limits of the ingest. Times are milliseconds. */
export interface IngestLimits {
  /** From accept to the end of the RTMP handshake. */
  handshakeTimeoutMs: number
  /** From accept to Publish.Start or a refusal. */
  admissionTimeoutMs: number
  /** How long {@link MediaNodeOptions.authorizePublish} may take. */
  authorizeTimeoutMs: number
  /** A connection is dropped after this time without bytes, and a publisher after twice this time without media. */
  idleTimeoutMs: number
  /** How long a refused peer has to read the reason before its socket is destroyed. */
  lingerMs: number
  /**
   * Bytes that a peer may send, and that are buffered for it, before it is admitted. At least one socket read (60 KiB,
   * `shared-read-buffer.ts`), because an encoder may send its first frames before the reply.
   */
  maxUnadmittedBytes: number
  maxMessageBytes: number
  maxChunkStreams: number
  /** Memory for the incomplete messages of one publisher. */
  maxInFlightBytes: number
  /** Bytes of replies that a peer has not read. With more it is closed. */
  maxUnsentBytes: number
  maxConnections: number
  /** Connections that are not admitted yet, of all addresses. */
  maxUnadmitted: number
  /** The same for one address (a /64 network with IPv6). */
  maxUnadmittedPerAddress: number
  /** New connections per second from one address. A burst may have twice as many. */
  maxConnectionRatePerAddress: number
  /** When encoders count as competing for a key. */
  contest: ContestLimits
  /** When a finding about a publisher's media is reported and cleared. */
  doctor: DoctorLimits
}

/** The connection limits are far above the needs of a studio with ten encoders. */
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
