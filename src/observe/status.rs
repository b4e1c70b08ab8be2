//! Status variables of a server: those that are asked for, under names that both families share.

/// One list for the fields, the names that servers have for them, and how an answer fills them.
macro_rules! status {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal;)+) => {
        /// Counters and states of a server as it tells them; `None` for what it does not offer.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Status {
            $($(#[doc = $doc])+ pub $field: Option<u64>,)+
        }

        /// The names of all of them.
        pub(super) const NAMES: &[&str] = &[$($name),+];

        impl Status {
            /// All of them with the same value, for tests.
            #[cfg(test)]
            pub(crate) fn all(value: u64) -> Status {
                Status { $($field: Some(value),)+ }
            }

            /// Takes one variable; one that is not known, or not a whole number, changes nothing.
            pub(super) fn set(&mut self, name: &str, value: &str) {
                match name {
                    $($name => self.$field = value.parse().ok(),)+
                    _ => {}
                }
            }
        }
    };
}

status! {
    /// Seconds since the server started.
    uptime = "Uptime";
    /// Threads that run, the asking one among them.
    threads_running = "Threads_running";
    /// Connections.
    threads_connected = "Threads_connected";
    /// Statements received from clients.
    questions = "Questions";
    /// Bytes received from clients.
    bytes_received = "Bytes_received";
    /// Bytes sent to clients.
    bytes_sent = "Bytes_sent";
    /// Reads of the first entry of an index.
    read_first = "Handler_read_first";
    /// Reads by key.
    read_key = "Handler_read_key";
    /// Reads of the last entry of an index.
    read_last = "Handler_read_last";
    /// Reads of the next entry of an index.
    read_next = "Handler_read_next";
    /// Reads of the entry before in an index.
    read_prev = "Handler_read_prev";
    /// Reads by position.
    read_rnd = "Handler_read_rnd";
    /// Reads of the next row of a table.
    read_rnd_next = "Handler_read_rnd_next";
    /// Rows written.
    rows_written = "Handler_write";
    /// Rows updated.
    rows_updated = "Handler_update";
    /// Rows deleted.
    rows_deleted = "Handler_delete";
    /// Bytes of a page.
    page_size = "Innodb_page_size";
    /// Pages of the buffer pool.
    pages_total = "Innodb_buffer_pool_pages_total";
    /// Those that hold data.
    pages_data = "Innodb_buffer_pool_pages_data";
    /// Those that were changed and not yet written.
    pages_dirty = "Innodb_buffer_pool_pages_dirty";
    /// Those that hold nothing.
    pages_free = "Innodb_buffer_pool_pages_free";
    /// Logical reads of pages.
    pool_read_requests = "Innodb_buffer_pool_read_requests";
    /// Reads of pages that went to disk.
    pool_reads = "Innodb_buffer_pool_reads";
    /// Waits for a free page.
    pool_wait_free = "Innodb_buffer_pool_wait_free";
    /// Waits for the redo log's buffer.
    log_waits = "Innodb_log_waits";
    /// Bytes of redo written.
    log_written = "Innodb_os_log_written";
    /// Bytes of redo since the last checkpoint (MariaDB).
    checkpoint_age = "Innodb_checkpoint_age";
    /// Where the redo log ends (MySQL).
    redo_end = "Innodb_redo_log_current_lsn";
    /// Where the last checkpoint lies in it (MySQL).
    redo_checkpoint = "Innodb_redo_log_checkpoint_lsn";
    /// Calls of fsync by InnoDB.
    data_fsyncs = "Innodb_data_fsyncs";
    /// Bytes read by InnoDB.
    data_read = "Innodb_data_read";
    /// Bytes written by InnoDB.
    data_written = "Innodb_data_written";
    /// Waits for row locks.
    row_lock_waits = "Innodb_row_lock_waits";
    /// Milliseconds of waits for row locks that are over.
    row_lock_time_ms = "Innodb_row_lock_time";
    /// Waits for row locks now.
    row_lock_current_waits = "Innodb_row_lock_current_waits";
    /// Deadlocks (MariaDB; MySQL has them elsewhere).
    deadlocks = "Innodb_deadlocks";
    /// Unpurged undo records (MariaDB; MySQL has them elsewhere).
    history_list_length = "Innodb_history_list_length";
    /// Temporary tables.
    tmp_tables = "Created_tmp_tables";
    /// Temporary tables on disk.
    tmp_disk_tables = "Created_tmp_disk_tables";
    /// Transactions that did not fit into the binary log's cache.
    binlog_cache_disk_use = "Binlog_cache_disk_use";
    /// Tables that were not found open.
    table_open_cache_misses = "Table_open_cache_misses";
    /// Attempts to connect that failed.
    aborted_connects = "Aborted_connects";
    /// `SELECT` statements.
    com_select = "Com_select";
    /// `INSERT` statements.
    com_insert = "Com_insert";
    /// `UPDATE` statements.
    com_update = "Com_update";
    /// `DELETE` statements.
    com_delete = "Com_delete";
    /// `COMMIT` statements.
    com_commit = "Com_commit";
    /// `ROLLBACK` statements.
    com_rollback = "Com_rollback";
    /// Data nodes of the NDB Cluster that the server belongs to.
    ndb_data_nodes = "Ndb_number_of_data_nodes";
}

impl Status {
    /// Rows read by handlers: the seven ways that both families count.
    pub fn rows_read(&self) -> Option<u64> {
        [
            self.read_first,
            self.read_key,
            self.read_last,
            self.read_next,
            self.read_prev,
            self.read_rnd,
            self.read_rnd_next,
        ]
        .into_iter()
        .sum()
    }

    /// Bytes of so many pages.
    pub fn bytes(&self, pages: Option<u64>) -> Option<u64> {
        pages?.checked_mul(self.page_size?)
    }

    /// Bytes of redo since the last checkpoint.
    pub fn checkpoint_age(&self) -> Option<u64> {
        self.checkpoint_age.or_else(|| self.redo_end?.checked_sub(self.redo_checkpoint?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server answered to `SHOW GLOBAL STATUS`, whole.
    fn answer(text: &str) -> Status {
        let mut status = Status::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once('\t')) {
            status.set(name, value);
        }
        status
    }

    #[test]
    fn an_answer_of_mariadb_is_understood() {
        let status = answer(include_str!("../../tests/fixtures/status-mariadb-10.11.txt"));
        assert_eq!((status.uptime, status.threads_running), (Some(30), Some(1)));
        assert_eq!(status.rows_read(), Some(3 + 6 + 1 + 228));
        assert_eq!(status.bytes(status.pages_total), Some(8112 * 16_384));
        assert_eq!(status.checkpoint_age(), Some(16));
        assert_eq!((status.deadlocks, status.history_list_length), (Some(0), Some(0)));
        assert_eq!((status.redo_end, status.ndb_data_nodes), (None, None));
    }

    #[test]
    fn an_answer_of_mysql_is_understood() {
        let status = answer(include_str!("../../tests/fixtures/status-mysql-9.7.txt"));
        assert_eq!((status.uptime, status.threads_running), (Some(27), Some(2)));
        assert_eq!(status.rows_read(), Some(43 + 2331 + 4927 + 863));
        assert_eq!((status.log_written, status.data_fsyncs), (Some(417_792), Some(87)));
        assert_eq!(status.checkpoint_age(), Some(0));
        assert_eq!((status.deadlocks, status.history_list_length), (None, None));
    }

    #[test]
    fn what_is_no_number_is_not_known_and_what_is_missing_makes_no_sum() {
        let status = answer("Uptime\tlong\nQuestions\t7\nHandler_read_key\t3\n");
        assert_eq!((status.uptime, status.questions, status.rows_read()), (None, Some(7), None));
        assert_eq!(status.bytes(Some(3)), None);
    }

    #[test]
    fn redo_that_is_older_than_its_checkpoint_is_not_known() {
        let status = answer("Innodb_redo_log_current_lsn\t5\nInnodb_redo_log_checkpoint_lsn\t6\n");
        assert_eq!(status.checkpoint_age(), None);
    }
}
