/** The ledger: accounts, entries and their lines, and credits. */
const ledger = [
  `
    create table ledger_accounts (
      id uuid primary key,
      kind text not null,
      owner_id uuid,
      unit text not null,
      balance bigint not null default 0,
      created_at timestamptz not null,
      constraint ledger_accounts_owned check ((kind in ('wallet', 'credits')) = (owner_id is not null)),
      constraint ledger_accounts_not_below_zero check (owner_id is null or balance >= 0)
    )`,
  'create index ledger_accounts_by_owner on ledger_accounts (owner_id, id) where owner_id is not null',
  `
    create table ledger_entries (
      id uuid primary key,
      kind text not null,
      reference text not null,
      reason text,
      actor_id uuid,
      line_count smallint not null,
      created_at timestamptz not null,
      constraint ledger_entries_reference_key unique (reference),
      constraint ledger_entries_line_count check (line_count >= 2)
    )`,
  `create index ledger_entries_corrections on ledger_entries (id) where kind = 'correction'`,
  `
    create table ledger_lines (
      id uuid primary key,
      entry_id uuid not null references ledger_entries (id),
      account_id uuid not null,
      house text,
      unit text not null,
      amount bigint not null,
      balance bigint,
      created_at timestamptz not null,
      constraint ledger_lines_not_zero check (amount <> 0)
    )`,
  'create index ledger_lines_by_account on ledger_lines (account_id, id)',
  'create index ledger_lines_by_entry on ledger_lines (entry_id)',
  `
    create table credit_lots (
      id uuid primary key,
      user_id uuid not null,
      entry_id uuid not null references ledger_entries (id),
      source text not null,
      period_start timestamptz,
      amount bigint not null,
      remaining bigint not null,
      reserved bigint not null default 0,
      expires_at timestamptz,
      created_at timestamptz not null,
      constraint credit_lots_amounts check (0 <= reserved and reserved <= remaining and remaining <= amount)
    )`,
  'create index credit_lots_by_person on credit_lots (user_id, id)',
  'create index credit_lots_open on credit_lots (user_id, expires_at) where remaining > 0',
  'create index credit_lots_by_period on credit_lots (user_id, expires_at)',
  'create index credit_lots_by_expiry on credit_lots (expires_at) where remaining > 0',
  `
    create table credit_reservations (
      id uuid primary key,
      user_id uuid not null,
      reference text not null,
      amount bigint not null,
      used bigint,
      status text not null,
      held_until timestamptz not null,
      created_at timestamptz not null,
      ended_at timestamptz,
      constraint credit_reservations_reference_key unique (reference)
    )`,
  'create index credit_reservations_by_person on credit_reservations (user_id, id)',
  `create index credit_reservations_held on credit_reservations (held_until) where status = 'open'`,
  `
    create table credit_holds (
      reservation_id uuid not null references credit_reservations (id),
      lot_id uuid not null references credit_lots (id),
      amount bigint not null,
      primary key (reservation_id, lot_id)
    )`,
  `
    create table ledger_checks (
      id uuid primary key,
      accounts_count integer not null,
      lines_count bigint not null,
      faults jsonb not null,
      created_at timestamptz not null
    )`,
]

/**
 * Triggers that make the ledger append-only, and keep each balance equal to the sum of its lines, for every writer.
 *
 * Balances of users change with the line, so that the check on them refuses a line at once. Balances of the house change
 * at the commit, because every settlement touches the same few accounts: they are locked last and for a short time. One
 * lock for all of them excludes deadlocks, whatever the order of the lines. Their accounts are created under it, too.
 */
const ledgerRules = [
  `
    create function ledger_is_append_only() returns trigger language plpgsql as $$
    begin
      raise exception '% is append-only: correct it with another entry', tg_table_name
        using errcode = 'restrict_violation', constraint = 'ledger_append_only';
    end $$`,
  ...['ledger_entries', 'ledger_lines'].map(
    (name) => `
    create trigger ${name}_append_only before update or delete on ${name}
      for each row execute function ledger_is_append_only()`,
  ),
  ...['ledger_accounts', 'ledger_entries', 'ledger_lines'].map(
    (name) => `
    create trigger ${name}_not_truncated before truncate on ${name}
      for each statement execute function ledger_is_append_only()`,
  ),
  // The triggers below change balances, at a depth of 2. A statement of a client fires this one at a depth of 1.
  `
    create function ledger_guard_account() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' and new.balance = 0 then return new; end if;
      if tg_op = 'UPDATE' and pg_trigger_depth() > 1
        and (new.id, new.kind, new.owner_id, new.unit, new.created_at)
          is not distinct from (old.id, old.kind, old.owner_id, old.unit, old.created_at)
      then return new; end if;
      raise exception 'the balance of an account changes only with a line of the ledger'
        using errcode = 'restrict_violation', constraint = 'ledger_append_only';
    end $$`,
  `
    create trigger ledger_accounts_guarded before insert or update or delete on ledger_accounts
      for each row execute function ledger_guard_account()`,
  `
    create function ledger_keep_balance() returns trigger language plpgsql as $$
    begin
      update ledger_accounts set balance = balance + new.amount
      where id = new.account_id and unit = new.unit and owner_id is not null
      returning balance into new.balance;
      if (new.balance is null) <> (new.house is not null) then
        raise exception 'ledger account % does not exist in %', new.account_id, new.unit
          using errcode = 'foreign_key_violation', constraint = 'ledger_lines_account';
      end if;
      return new;
    end $$`,
  `
    create trigger ledger_lines_keep_balance before insert on ledger_lines
      for each row execute function ledger_keep_balance()`,
  // The number of lines is fixed with the entry, so that no later transaction can add balanced lines to it.
  `
    create function ledger_require_balanced(entry uuid) returns void language plpgsql as $$
    begin
      if (select line_count from ledger_entries where id = entry)
        is distinct from (select count(*) from ledger_lines where entry_id = entry)
      then
        raise exception 'ledger entry % has another number of lines than it says', entry
          using errcode = 'check_violation', constraint = 'ledger_entries_complete';
      end if;
      if exists (
        select from ledger_lines where entry_id = entry group by unit having sum(amount) <> 0
      ) then
        raise exception 'the lines of ledger entry % do not add up to zero', entry
          using errcode = 'check_violation', constraint = 'ledger_entries_balanced';
      end if;
    end $$`,
  `
    create function ledger_close_entry() returns trigger language plpgsql as $$
    begin
      perform ledger_require_balanced(new.id);
      return null;
    end $$`,
  `
    create constraint trigger ledger_entries_balanced after insert on ledger_entries
      deferrable initially deferred for each row execute function ledger_close_entry()`,
  // The key of the advisory lock is arbitrary.
  `
    create function ledger_close_line() returns trigger language plpgsql as $$
    begin
      perform ledger_require_balanced(new.entry_id);
      if new.house is not null then
        perform pg_advisory_xact_lock(1818584167);
        insert into ledger_accounts (id, kind, unit, created_at)
        values (new.account_id, new.house, new.unit, new.created_at) on conflict do nothing;
        update ledger_accounts set balance = balance + new.amount
        where id = new.account_id and kind = new.house and unit = new.unit and owner_id is null;
        if not found then
          raise exception 'ledger account % is not % in %', new.account_id, new.house, new.unit
            using errcode = 'foreign_key_violation', constraint = 'ledger_lines_account';
        end if;
      end if;
      return null;
    end $$`,
  `
    create constraint trigger ledger_lines_balanced after insert on ledger_lines
      deferrable initially deferred for each row execute function ledger_close_line()`,
]

/** Billing profiles, and invoices, which never change and are numbered without gaps. */
const invoices = [
  `
    create table billing_profiles (
      user_id uuid primary key references users (id) on delete cascade,
      kind text not null,
      name text not null,
      street text not null,
      city text not null,
      postal_code text not null,
      country text,
      vat_number text,
      version integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  `
    create table invoice_series (
      series text primary key,
      last_number integer not null
    )`,
  `
    create table invoices (
      id uuid primary key,
      kind text not null,
      series text not null,
      number integer not null default 0,
      reference text not null,
      user_id uuid not null,
      payment_id uuid not null,
      invoice_id uuid,
      currency text not null,
      net bigint not null,
      tax bigint not null,
      total bigint not null,
      content jsonb not null,
      created_at timestamptz not null,
      constraint invoices_number_key unique (series, number),
      constraint invoices_reference_key unique (reference),
      constraint invoices_total check (net + tax = total),
      constraint invoices_credited check ((kind = 'credit_note') = (invoice_id is not null))
    )`,
  'create index invoices_by_user on invoices (user_id, id)',
  'create index invoices_by_payment on invoices (payment_id)',
  // The number is counted in the transaction of the invoice, so a transaction that fails leaves no gap.
  `
    create function invoice_take_number() returns trigger language plpgsql as $$
    begin
      insert into invoice_series as counted (series, last_number) values (new.series, 1)
      on conflict (series) do update set last_number = counted.last_number + 1
      returning last_number into new.number;
      return new;
    end $$`,
  `
    create trigger invoices_take_number before insert on invoices
      for each row execute function invoice_take_number()`,
  // Only triggers change the numbers. A statement of a client has a depth of 1, so it is refused.
  `
    create function invoice_guard_series() returns trigger language plpgsql as $$
    begin
      if tg_op <> 'DELETE' and pg_trigger_depth() > 1 then return new; end if;
      raise exception 'numbers of invoices are counted only with an invoice'
        using errcode = 'restrict_violation', constraint = 'ledger_append_only';
    end $$`,
  `
    create trigger invoice_series_guarded before insert or update or delete on invoice_series
      for each row execute function invoice_guard_series()`,
  `
    create trigger invoices_append_only before update or delete on invoices
      for each row execute function ledger_is_append_only()`,
  ...['invoices', 'invoice_series'].map(
    (name) => `
    create trigger ${name}_not_truncated before truncate on ${name}
      for each statement execute function ledger_is_append_only()`,
  ),
]

/** Payments, the ledger and what follows from it. */
export const money = [...ledger, ...ledgerRules, ...invoices]
