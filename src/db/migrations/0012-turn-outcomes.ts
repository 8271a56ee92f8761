import { Migration } from '@mikro-orm/migrations'

/** What became of the turns of the last minutes, for those that are asked about again because their node died. */
export class TurnOutcomes extends Migration {
  override up(): void {
    this.addSql(`
      create table turn_outcomes (
        actor text not null,
        at timestamptz not null,
        commands uuid[] not null,
        outcomes bytea not null,
        primary key (actor, at)
      )`)
    // What is sealed cannot be made smaller: not to be tried.
    this.addSql('alter table turn_outcomes alter column outcomes set storage external')
    // Every row is deleted after two minutes: dead ones are to be reused sooner than a fifth of a busy table comes together.
    this.addSql('alter table turn_outcomes set (autovacuum_vacuum_scale_factor = 0.05)')
  }
}
