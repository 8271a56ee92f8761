import type { Services } from '../../../core/services.ts'
import { Outgoing } from '../../../fetch/outgoing.ts'
import { OPEN_RULES } from '../../../fetch/target.ts'
import type { Foundation } from '../../../foundation.ts'
import { Analyst } from './analysis/analyst.ts'
import { AiConnections } from './connection/connections.ts'
import { AiSpending } from './connection/spending.ts'
import { CaptionWriter } from './caption-writer.ts'
import { PastReader } from './past-reader.ts'
import { requireLocalSpeech } from './providers/local/engine.ts'
import { Providers } from './providers/providers.ts'
import { AiReader } from './reader.ts'
import { AiRequests } from './requests.ts'
import { AiRunner } from './runner.ts'
import { WrittenTexts } from './written/written-texts.ts'
import { Transcriber } from './transcripts/transcriber.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly ai: ReturnType<typeof composeAi>['services']['ai']
  }
}

/** Builds the services of the domain. */
export function composeAi(
  foundation: Foundation,
  {
    analytics,
    assets,
    ledger,
    modelTexts,
    plans,
    socialAccounts,
    workspaces,
  }: Pick<Services, 'analytics' | 'assets' | 'ledger' | 'modelTexts' | 'plans' | 'socialAccounts' | 'workspaces'>,
) {
  const { clock, config, database, turns } = foundation
  const outgoing = Outgoing.of(config.ALLOW_PRIVATE_ADDRESSES)
  const rules = config.ALLOW_PRIVATE_ADDRESSES ? OPEN_RULES : {}
  const { vault } = socialAccounts
  vault.register({ table: 'ai_connections', id: ['workspace_id'] })
  const connections = new AiConnections({ clock, database, vault, rules })
  const providers = new Providers(config, outgoing, connections)
  const spending = new AiSpending(plans)
  const past = new PastReader(database)
  const captions = new CaptionWriter({ database, directory: socialAccounts.directory, past, providers })
  const written = new WrittenTexts(clock)
  modelTexts.provide(written)
  assets.library.altTexts.provide(written)
  const requests = new AiRequests({ clock, ledger, plans, providers, spending, written })
  workspaces.service.onDelete((turn) => requests.cancelAll(turn))
  const ai = {
    requests,
    connections,
    reader: new AiReader({ clock, database, ledger, plans, spending }),
    runner: new AiRunner({
      clock,
      database,
      turns,
      past,
      captions,
      transcriber: new Transcriber({ ...foundation, providers }),
      analyst: new Analyst({ stats: analytics.stats, providers }),
    }),
  }
  const { AI_WHISPER_MODEL: model } = config
  return {
    services: { ai },
    start: async () => {
      if (model !== undefined) await requireLocalSpeech({ model })
    },
    close: () => outgoing.close(),
  }
}
