import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Asset } from '../assets/index.ts'
import { Workspace, type AiSettingsData } from '../../workspace/workspaces/index.ts'
import type {
  AiKind,
  AiState,
  AnalysisData,
  IgnoredSetting,
  ProviderKey,
  StyleData,
  TranscriptOrigin,
} from './schemas.ts'
import type { Segment } from './transcripts/segments.ts'

const inWorkspace = (name: string) => references(Workspace, { name, onDelete: 'cascade' })
const texts = () => p.array().columnType('text[]').defaultRaw(`'{}'`)

/** What a job was asked for. The settings are those at that moment. */
export interface AiRequest {
  readonly text: string | null
  readonly platforms: readonly string[]
  readonly variantCount: number
  /** The language of the speech, for a transcription. */
  readonly language?: string | null
  /** The days and accounts of an analysis. `text` is its question. */
  readonly from?: string
  readonly to?: string
  readonly accountIds?: readonly string[]
  readonly settings: AiSettingsData
}

/** Work that costs credits. */
const AiJob = defineEntity({
  name: 'AiJob',
  tableName: 'ai_jobs',
  indexes: [
    { name: 'ai_jobs_by_creator', properties: ['createdBy', 'id'] },
    { name: 'ai_jobs_by_workspace', properties: ['workspaceId', 'id'] },
    {
      name: 'ai_jobs_open',
      expression: "create index ai_jobs_open on ai_jobs (id) where state in ('queued', 'running')",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('ai_jobs_workspace_id_fkey'),
    kind: p.text().$type<AiKind>(),
    state: p.text().$type<AiState>(),
    progress: p.integer(),
    /** The asset may be deleted later. */
    assetId: p.uuid().nullable(),
    request: p.json<AiRequest>(),
    provider: p.text().$type<ProviderKey>(),
    model: p.text().nullable(),
    /** The job of the outbox. */
    jobId: p.uuid(),
    /** The user whose credits it uses. */
    payerId: p.uuid(),
    /** The reservation of the credits in the ledger, and its amount. */
    reservationId: p.uuid(),
    creditsReserved: p.integer(),
    creditsUsed: p.integer().nullable(),
    style: p.json<StyleData>().nullable(),
    analysis: p.json<AnalysisData>().nullable(),
    ignoredSettings: texts().$type<IgnoredSetting[]>(),
    error: p.text().nullable(),
    createdBy: p.uuid(),
    finishedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** A caption that an AI job has made. */
const AiCaption = defineEntity({
  name: 'AiCaption',
  tableName: 'ai_captions',
  indexes: [
    { name: 'ai_captions_by_workspace', properties: ['workspaceId', 'id'] },
    { name: 'ai_captions_by_job', properties: ['aiJobId', 'id'] },
    {
      name: 'ai_captions_by_asset',
      expression: 'create index ai_captions_by_asset on ai_captions (asset_id, id) where asset_id is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('ai_captions_workspace_id_fkey'),
    aiJobId: references(AiJob, { name: 'ai_captions_ai_job_id_fkey', onDelete: 'cascade' }),
    assetId: references(Asset, { name: 'ai_captions_asset_id_fkey', onDelete: 'cascade' }).nullable(),
    variantNumber: p.integer(),
    platform: p.text().nullable(),
    title: p.text().nullable(),
    content: p.text(),
    hashtags: texts(),
    shortened: p.boolean(),
    origin: p.text().$type<'selected' | 'model'>(),
    model: p.text().nullable(),
    promptVersion: p.text().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** The transcript that an AI job has made of an asset. It is deleted with the asset. */
const AiTranscript = defineEntity({
  name: 'AiTranscript',
  tableName: 'ai_transcripts',
  uniques: [{ name: 'ai_transcripts_ai_job_key', properties: ['aiJobId'] }],
  indexes: [
    { name: 'ai_transcripts_by_workspace', properties: ['workspaceId', 'id'] },
    { name: 'ai_transcripts_by_asset', properties: ['assetId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('ai_transcripts_workspace_id_fkey'),
    aiJobId: references(AiJob, { name: 'ai_transcripts_ai_job_id_fkey', onDelete: 'cascade' }),
    assetId: references(Asset, { name: 'ai_transcripts_asset_id_fkey', onDelete: 'cascade' }),
    language: p.text().nullable(),
    durationSeconds: p.double().$type<number>(),
    segments: p.json<readonly Segment[]>(),
    origin: p.text().$type<TranscriptOrigin>(),
    model: p.text().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** What a model wrote for a workspace, as fingerprints. It outlives its job and its asset, so that posts stay marked. */
const AiText = defineEntity({
  name: 'AiText',
  tableName: 'ai_texts',
  indexes: [
    { name: 'ai_texts_by_workspace', properties: ['workspaceId', 'id'] },
    { name: 'ai_texts_by_print', expression: 'create index ai_texts_by_print on ai_texts using gin (prints)' },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('ai_texts_workspace_id_fkey'),
    aiJobId: p.uuid(),
    model: p.text(),
    prints: p.array().columnType('text[]'),
    createdAt: timestamp(),
  },
})

/** The provider of models that a workspace has configured. */
const AiConnection = defineEntity({
  name: 'AiConnection',
  tableName: 'ai_connections',
  properties: {
    workspaceId: inWorkspace('ai_connections_workspace_id_fkey').primary(),
    baseUrl: p.text(),
    models: texts(),
    transcriptionModel: p.text().nullable(),
    hasKey: p.boolean(),
    /** The key, encrypted with a data key, which an installation key encrypts. */
    keyId: p.uuid(),
    dataKeySealed: p.text(),
    sealed: p.text(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const aiJobs = table(AiJob)
export const aiConnections = table(AiConnection)
export const aiCaptions = table(AiCaption)
export const aiTexts = table(AiText)
export const aiTranscripts = table(AiTranscript)
export type AiJobRow = Row<typeof AiJob>
export type CaptionRow = Row<typeof AiCaption>
export type TranscriptRow = Row<typeof AiTranscript>
export type AiConnectionRow = Row<typeof AiConnection>
export const aiEntities = [AiJob, AiCaption, AiTranscript, AiText, AiConnection]
