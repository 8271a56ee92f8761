import type { Clock } from '../../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { checkUrl, type TargetRules } from '../../../../fetch/target.ts'
import type { CredentialVault } from '../../../social/accounts/index.ts'
import { aiProviderRemoved, aiProviderUpdated } from '../events.ts'
import { aiConnections, type AiConnectionRow } from '../tables.ts'
import type { NewAiProviderData, WorkspaceAiProviderData } from './schemas.ts'

interface Dependencies {
  readonly clock: Clock
  readonly database: Sql
  readonly vault: CredentialVault
  /** Which addresses a workspace can enter. */
  readonly rules: TargetRules
}

/** The providers that workspaces have configured. Their keys are encrypted, and leave only in requests to the provider. */
export class AiConnections {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws AppError not_found */
  async read(workspaceId: string): Promise<WorkspaceAiProviderData> {
    const row = await this.stored(workspaceId)
    if (row === undefined) throw NotFound({ message: 'This workspace has not set an AI provider.' })
    return viewOf(row)
  }

  find(sql: Sql, workspaceId: string): Promise<AiConnectionRow | undefined> {
    return aiConnections.first(sql, { workspaceId })
  }

  /** As it is now, for a job. */
  stored(workspaceId: string): Promise<AiConnectionRow | undefined> {
    return this.find(this.#dependencies.database, workspaceId)
  }

  /** @throws AppError url_refused, validation_failed */
  async save(turn: Turn, body: NewAiProviderData): Promise<WorkspaceAiProviderData> {
    const { clock, rules, vault } = this.#dependencies
    const { workspaceId } = turn
    const { key, models, transcriptionModel = null } = body
    const baseUrl = body.baseUrl.replace(/\/+$/, '')
    checkUrl(baseUrl, rules)
    const known = await this.find(turn.sql, workspaceId)
    // A stored key goes only to the address that it was entered for.
    if (key === undefined && known?.hasKey === true && known.baseUrl !== baseUrl) {
      const message = 'is required, because the stored key is for another address. Null removes it'
      throw ValidationFailed({ errors: [{ path: '/body/key', code: 'required', message }] })
    }
    const envelope =
      key === undefined && known !== undefined
        ? { keyId: known.keyId, dataKeySealed: known.dataKeySealed, sealed: known.sealed, hasKey: known.hasKey }
        : { ...(await vault.sealValue('ai key', { key: key ?? null })), hasKey: typeof key === 'string' }
    const updatedAt = new Date(clock.now())
    const values = { baseUrl, models, transcriptionModel, ...envelope, updatedAt }
    const createdAt = known === undefined ? updatedAt : new Date(known.createdAt)
    if (known === undefined) await aiConnections.insert(turn.sql, { workspaceId, ...values, createdAt })
    else await aiConnections.update(turn.sql, { workspaceId }, values)
    turn.audit({ kind: 'workspace', id: workspaceId, details: { aiProvider: new URL(baseUrl).host } })
    const times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() }
    const view = viewOf({ workspaceId, ...values, ...times })
    turn.emit(aiProviderUpdated, view)
    return view
  }

  /** @throws AppError not_found */
  async remove(turn: Turn): Promise<void> {
    const { workspaceId } = turn
    if ((await aiConnections.delete(turn.sql, { workspaceId })) === 0) throw NotFound()
    turn.audit({ kind: 'workspace', id: workspaceId, details: { aiProvider: null } })
    turn.emit(aiProviderRemoved, { workspaceId })
  }

  /** The key of a provider; undefined if it needs none. @throws UnsealError */
  async keyOf(row: AiConnectionRow): Promise<string | undefined> {
    const { key } = await this.#dependencies.vault.openValue<{ key: string | null }>('ai key', row)
    return key ?? undefined
  }
}

function viewOf(row: AiConnectionRow): WorkspaceAiProviderData {
  const { baseUrl, createdAt, hasKey, models, transcriptionModel, updatedAt, workspaceId } = row
  return { workspaceId, baseUrl, hasKey, models: [...models], transcriptionModel, createdAt, updatedAt }
}
